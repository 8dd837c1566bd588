// How items have ended.
import type { Outcome } from './types'
import type { LeaseqError } from './errors'
import { type EndParts, readError } from './wire'

/** By their numbers in the answer, less 3. */
const OTHERS = ['cancelled', 'removed', 'gone'] as const

function readOutcome([kind, bytes]: EndParts): Outcome | LeaseqError | null {
  if (kind === 0) return null
  if (kind === 1) return { kind: 'completed', result: bytes, retained: true }
  if (kind === 7) return { kind: 'completed', result: null, retained: false }
  if (kind === 2) return { kind: 'dead', error: bytes?.toString() ?? '' }
  if (kind === 6) return readError(JSON.parse(`${bytes}`)) as LeaseqError
  return { kind: OTHERS[kind - 3] ?? 'gone' }
}

export const readOutcomes = (parts: EndParts[]): (Outcome | LeaseqError | null)[] =>
  parts.map(readOutcome)
