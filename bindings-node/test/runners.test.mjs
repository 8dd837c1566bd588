// Programs whose tests use `leaseq/testing` with other test runners than that of Node.js.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const PACKAGE = fileURLToPath(new URL('..', import.meta.url))
const RUNNERS = join(PACKAGE, '../build/runners-node/node_modules')
const TESTS = 6
let folder

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leaseq-runners-'))
  await cp(new URL('runners/project', import.meta.url), folder, { recursive: true })
  const modules = join(folder, 'node_modules')
  await mkdir(modules)
  // As it is installed: runners transform what lies elsewhere.
  for (const name of await readdir(PACKAGE)) {
    if (!/^dist$|^package.json$|\.(mjs|js|node)$/.test(name)) continue
    await cp(join(PACKAGE, name), join(modules, 'leaseq', name), { recursive: true })
  }
  await symlink(join(RUNNERS, 'vitest'), join(modules, 'vitest'))
})
after(() => rm(folder, { recursive: true, force: true }))

/** Runs one of them, which `make node-runners` installs, and returns its report. */
async function report(program, options) {
  const file = join(folder, `${program.split('/')[0]}.json`)
  const given = [join(RUNNERS, program), ...options, `--outputFile=${file}`]
  // It is told nothing of the test runner that runs this file.
  const { NODE_TEST_CONTEXT: _, NODE_OPTIONS: __, ...env } = process.env
  await promisify(execFile)(process.execPath, given, { cwd: folder, env })
  return JSON.parse(await readFile(file, 'utf8'))
}

test('jest', async () => {
  const options = ['--json']
  const { numPassedTests, numTotalTests } = await report('jest/bin/jest.js', options)
  assert.deepEqual([numPassedTests, numTotalTests], [TESTS, TESTS])
})

test('vitest', async () => {
  const options = ['run', '--root', folder, '--reporter=json', 'vitest.test.mjs']
  const { numPassedTests, numTotalTests } = await report('vitest/vitest.mjs', options)
  assert.deepEqual([numPassedTests, numTotalTests], [TESTS, TESTS])
})
