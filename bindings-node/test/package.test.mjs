// What is packed installs and runs in an empty folder, and does what the book shows.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

import { startRedis } from './support/redis.mjs'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
/** The blocks of code in the section on Node.js of a page of the book. */
function blocks(name) {
  const page = readFileSync(join(PACKAGE, '../docs', name), 'utf8')
  const section = page.slice(page.indexOf('\n## Node.js\n'), page.indexOf('\n## C\n'))
  return Array.from(section.matchAll(/^```\w+\n(.*?)^```$/gms), ([, code]) => code)
}
const [INSTALL, COMPILE] = blocks('install.md')
const [ESM, COMMONJS, TYPESCRIPT] = blocks('first-queue.md')

let folder, empty, tarball, server, installed

/** Runs lines of a shell in the folder; what they print, and what they warn of. */
async function run(lines) {
  const env = { ...process.env, npm_config_prefer_offline: 'true', LEASEQ_URL: '', REDIS_URL: '' }
  const options = { cwd: empty, env, timeout: 120_000 }
  return promisify(execFile)('bash', ['-euo', 'pipefail', '-c', lines], options)
}

/** What they print. */
async function sh(lines) {
  return (await run(lines)).stdout
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-package-'))
  empty = join(folder, 'first-steps')
  const packed = join(folder, 'leaseq/build/node')
  await mkdir(packed, { recursive: true })
  await mkdir(empty)
  const { version } = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'))
  tarball = join(packed, `leaseq-${version}.tgz`)
  await sh(`cd ${PACKAGE} && npm run -s prepack && npm pack --ignore-scripts --silent \
    --pack-destination ${packed}`)
  server = await startRedis()
  installed = await run(INSTALL)
})

after(async () => {
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

test('the package has what it needs, and nothing else', async () => {
  const listed = (await sh(`tar -tzf ${tarball}`)).trim().split('\n').sort()
  const face =
    'calls check client errors events gather group groups history index input item lease leases operator outcome queue schedule schedules settle signals slots testing types wire workers'.split(
      ' ',
    )
  const jobs = readdirSync(join(PACKAGE, 'lib/jobs')).map((name) => `jobs/${name.slice(0, -3)}`)
  const native = listed.filter((name) => /\/leaseq\.[a-z0-9-]+\.node$/.test(name))
  assert.equal(native.length, 1, `${native}`)
  const expected = [
    ...native,
    ...[...face, ...jobs].flatMap((name) => [
      `package/dist/${name}.d.ts`,
      `package/dist/${name}.js`,
    ]),
    ...[
      'LICENSE-APACHE',
      'LICENSE-MIT',
      'README.md',
      'index.d.mts',
      'index.mjs',
      'jobs.d.mts',
      'jobs.mjs',
      'testing.d.mts',
      'testing.mjs',
    ].map((name) => `package/${name}`),
    ...['native.d.ts', 'native.js', 'package.json'].map((name) => `package/${name}`),
  ]
  assert.deepEqual(listed, expected.sort())
  const made = ['.bin', '.package-lock.json', 'leaseq']
  assert.deepEqual(await readdir(join(empty, 'node_modules')), made)
  assert.match(await sh('npx --no-install leaseq-jobs --help'), /^usage: leaseq-jobs FILE/)
})

test('installing it runs nothing, and npm does not warn that it would', async () => {
  const { scripts } = JSON.parse(await sh(`tar -xzOf ${tarball} package/package.json`))
  // From a registry npm runs the first three; from a file, a URL or git all of them.
  for (const name of [
    'preinstall',
    'install',
    'postinstall',
    'preprepare',
    'prepare',
    'postprepare',
  ]) {
    assert.equal(scripts?.[name], undefined, name)
  }
  const { packages } = JSON.parse(readFileSync(join(empty, 'package-lock.json'), 'utf8'))
  assert.equal(packages['node_modules/leaseq'].hasInstallScript, undefined)
  assert.doesNotMatch(installed.stderr, /script/i)
})

const urls = () => ['sqlite:jobs.db', 'memory:', server.url]

/** Runs an example on every engine; where it names one, it is the file. */
async function runs(name, code, expected) {
  assert.ok(code.includes("'sqlite:jobs.db'"))
  for (const url of urls()) {
    await writeFile(join(empty, name), code.replace('sqlite:jobs.db', url))
    assert.equal(await sh(`node ${name}`), expected, url)
  }
  assert.ok(existsSync(join(empty, 'jobs.db')))
}

test('the example for ECMAScript modules', async () => {
  await runs('send.mjs', ESM, 'sending your order\nsending hello\n')
})

test('the example for CommonJS', async () => {
  await runs('send.cjs', COMMONJS, 'sending to you\n')
})

test('the example in TypeScript', async () => {
  assert.match(COMPILE, /^npm install .*\nnpx tsc --strict .* send\.mts\nnode send\.mjs\n$/)
  const [install, ...compile] = COMPILE.trim().split('\n')
  await sh(install)
  for (const url of urls()) {
    await writeFile(join(empty, 'send.mts'), TYPESCRIPT.replace('sqlite:jobs.db', url))
    assert.equal(await sh(compile.join('\n')), 'sending order 17 to you\n', url)
  }
})

test('the example on the page of the package', async () => {
  const page = readFileSync(join(PACKAGE, 'README.md'), 'utf8')
  const [, code] = /^```js\n(.*?)^```$/ms.exec(page)
  await runs('page.mjs', code, 'sending hello\n')
})

test('both module systems have the same classes', async () => {
  const script = `
    import * as esm from 'leaseq'
    import { createRequire } from 'node:module'
    const commonjs = createRequire(import.meta.url)('leaseq')
    const names = Object.keys(commonjs).sort()
    console.log(names.every((name) => esm[name] === commonjs[name]), names.length)
    console.log(Object.keys(esm).sort().join() === names.join())`
  await writeFile(join(empty, 'same.mjs'), script)
  assert.equal(await sh('node same.mjs'), 'true 13\ntrue\n')
  await writeFile(join(empty, 'jobs.mjs'), script.replaceAll("'leaseq'", "'leaseq/jobs'"))
  assert.equal(await sh('node jobs.mjs'), 'true 21\ntrue\n')
  await writeFile(join(empty, 'testing.mjs'), script.replaceAll("'leaseq'", "'leaseq/testing'"))
  assert.equal(await sh('node testing.mjs'), 'true 4\ntrue\n')
})

test('two copies of it work in one process', async () => {
  // As npm installs them when two dependencies want different versions.
  await sh('mkdir -p other/node_modules && cp -r node_modules/leaseq other/node_modules/')
  const script = `
    import { createRequire } from 'node:module'
    const data = []
    for (const place of ['./', './other/']) {
      const { connect } = createRequire(new URL(place, import.meta.url))('leaseq')
      const client = await connect('memory:')
      const queue = client.queue('copies')
      await queue.addItem(place)
      const lease = await queue.lease({ durationMs: 30_000, waitMs: 0 })
      data.push(lease.data.toString(), await queue.complete(lease))
      await client.close()
    }
    console.log(data.join())`
  await writeFile(join(empty, 'copies.mjs'), script)
  assert.equal(await sh('node copies.mjs'), './,true,./other/,true\n')
})
