// The table, and the same as JSON; a record looks as those of the benchmarks of the core.
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'

function number(value) {
  if (value === null) return 'none'
  const size = Math.abs(value)
  return value.toFixed(size >= 1000 ? 0 : size >= 10 ? 1 : 2)
}

function machine() {
  const server = process.env.LEASEQ_REDIS_SERVER || 'redis-server'
  const version = /v=(\S+)/.exec(execFileSync(server, ['--version'], { encoding: 'utf8' }))?.[1]
  const about = `${process.platform} ${process.arch}, ${availableParallelism()} cores`
  const redis = `redis-server ${version ?? '?'} on loopback, no persistence`
  return `${about}; Node.js ${process.version}; ${redis}; data of 100 bytes`
}

export class Report {
  #quick
  #lines = []

  constructor(quick) {
    this.#quick = quick
  }

  /** A figure, with what it must reach, if anything. None, null, comes with a note that says why. */
  add(target, what, figure, unit, { atLeast = null, note = '', ...scene } = {}) {
    const held = atLeast === null || figure === null ? null : figure >= atLeast
    const bound = atLeast === null ? null : 'AtLeast'
    const line = { target, what, figure, unit, limit: atLeast, bound, held }
    const { server = 'redis', persistence = 'none', concurrency = '' } = scene
    this.#lines.push({ ...line, server, persistence, data: 100, concurrency, note })
  }

  print() {
    console.log(machine())
    if (this.#quick) {
      console.log('--quick: one small round, to see that it works; the figures mean nothing')
    }
    const row = (...cells) => {
      const [target, what, figure, unit, limit, held, note] = cells
      const left = `${target.padStart(3)}  ${what.padEnd(50)} ${figure.padStart(10)} ${unit.padEnd(8)}`
      console.log(`${left} ${limit.padStart(8)}  ${held.padEnd(6)} ${note}`.trimEnd())
    }
    row('', '', 'figure', '', 'limit', '', '')
    for (const { target, what, figure, unit, limit, held, note } of this.#lines) {
      const bound = limit === null ? '' : `≥ ${number(limit)}`
      const word = held === null ? '' : held ? 'ok' : 'MISSED'
      row(target, what, number(figure), unit, bound, word, note)
    }
  }

  write(path) {
    const all = { machine: machine(), quick: this.#quick, figures: this.#lines }
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, `${JSON.stringify(all, null, 2)}\n`)
    console.log(`figures written to ${path}`)
  }
}
