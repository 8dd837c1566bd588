// A redis-server of one's own, on a free port of the loopback interface.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { eventually } from './wait.mjs'

const PROGRAM = process.env.LEASEQ_REDIS_SERVER || 'redis-server'

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'))
    socket.setTimeout(1000, () => socket.destroy())
    socket.once('data', (data) => {
      socket.destroy()
      resolve(/^\+PONG|^-NOAUTH/.test(String(data)))
    })
    socket.once('close', () => resolve(false))
    socket.once('error', () => resolve(false))
  })
}

async function launch(port, folder, options) {
  const args = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
  const child = spawn(PROGRAM, [...args.map(String), ...options], {
    cwd: folder,
    stdio: 'ignore',
  })
  const ended = once(child, 'exit')
  // Whatever becomes of the test.
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  void ended.then(() => process.off('exit', kill))
  await eventually('redis-server answers', async () => {
    if (child.exitCode !== null) return 'ended'
    return answers(port)
  })
  return { child, ended }
}

/** Starts a server; `stop` ends it. Another program may take the port first: then once more. */
export async function startRedis(...options) {
  const folder = await mkdtemp(join(tmpdir(), 'leaseq-node-redis-'))
  for (let attempt = 0; attempt < 5; attempt++) {
    const port = await freePort()
    const { child, ended } = await launch(port, folder, options)
    if (child.exitCode !== null) continue
    return {
      port,
      url: `redis://127.0.0.1:${port}/`,
      pid: child.pid,
      /** The process stands still, so that no answer comes. */
      freeze: () => child.kill('SIGSTOP'),
      thaw: () => child.kill('SIGCONT'),
      async stop() {
        child.kill('SIGKILL')
        await ended
        await rm(folder, { recursive: true, force: true })
      },
    }
  }
  throw new Error(`${PROGRAM} does not start`)
}

/** Sends one command, words without spaces, behind this library's back. */
export function command(server, line) {
  return new Promise((resolve, reject) => {
    const socket = connect(server.port, '127.0.0.1', () => socket.write(`${line}\r\n`))
    socket.once('error', reject)
    socket.once('data', (data) => {
      socket.destroy()
      const answer = String(data)
      if (answer.startsWith('-')) reject(new Error(answer))
      else resolve(answer)
    })
  })
}
