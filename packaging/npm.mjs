// Makes the package.json of an npm package that is published: npm.mjs main|platform FILE.
import { readFileSync, writeFileSync } from 'node:fs'

const [kind, file] = process.argv.slice(2)
const inCheckout = JSON.parse(readFileSync(file, 'utf8'))

/** The native part comes from the package of the platform; what only a checkout needs stays there. */
function main({ scripts, devDependencies, overrides, napi, prettier, ...published }) {
  const platforms = napi.targets.map((target) => {
    const [arch, , os, libc] = target.split('-')
    const name = [napi.packageName, os, { x86_64: 'x64', aarch64: 'arm64' }[arch], libc]
    return name.filter(Boolean).join('-')
  })
  return {
    ...published,
    files: published.files.filter((pattern) => pattern !== '*.node'),
    optionalDependencies: Object.fromEntries(platforms.map((name) => [name, published.version])),
  }
}

/** With the licences of what is linked. */
function platform(published) {
  return { ...published, files: [...published.files, 'LICENSE-*'] }
}

const made = { main, platform }[kind](inCheckout)
writeFileSync(file, `${JSON.stringify(made, null, 2)}\n`)
