// The compiled files import each other without cycles. Type-only imports are gone by then.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const DIST = fileURLToPath(new URL('../dist/', import.meta.url))

test('no file imports itself, directly or through others', () => {
  const imports = new Map()
  const files = readdirSync(DIST, { recursive: true }).filter((name) => name.endsWith('.js'))
  for (const file of files) {
    const code = readFileSync(DIST + file, 'utf8')
    const required = code.matchAll(/require\("(\.\.?\/[\w./]+)"\)/g)
    imports.set(
      file,
      Array.from(required, ([, name]) => normalize(join(dirname(file), `${name}.js`))),
    )
  }
  assert.ok(imports.get('index.js').includes('client.js'))
  assert.ok(imports.get('jobs/lifecycle.js').includes('calls.js'))
  const done = new Set()
  const visit = (file, path) => {
    assert.ok(!path.includes(file), [...path, file].join(' -> '))
    if (done.has(file)) return
    for (const next of imports.get(file) ?? []) visit(next, [...path, file])
    done.add(file)
  }
  for (const file of imports.keys()) visit(file, [])
})
