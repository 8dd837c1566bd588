// Runs a script in a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

const PACKAGE = fileURLToPath(new URL('../..', import.meta.url))

/** The script sees `connect` and `url`. Fails after 5 minutes. */
export async function run(script, url, ...flags) {
  const text = `import { connect } from './index.mjs'\nconst url = process.argv[1]\n${script}`
  const args = [...flags, '--input-type=module', '-e', text, url]
  const child = spawn(process.execPath, args, { cwd: PACKAGE, timeout: 300_000 })
  let printed = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (data) => (printed += data))
  }
  const [code, signal] = await once(child, 'close')
  return { code, signal, printed }
}
