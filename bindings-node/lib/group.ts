// Naming a group, and a member's place in it.
import { bytes, known, number, storedText, text } from './check'
import { invalid } from './errors'

/**
 * Names a group, as `createGroup` resolves to it; never a later group with its id. Whoever knows the
 * three values can add members, in any process and language.
 */
export interface Group {
  /** The name of the queue that has it. Its members may be in any queue. */
  queue: string
  /** Unique among the groups of its queue, 1 to 512 bytes. Text, unless it is not valid UTF-8. */
  id: string | Uint8Array
  /** Distinguishes it from other groups that have had its id: an opaque text. */
  generation: string
}

/** A group as it is now. */
export interface GroupInfo {
  readonly group: Group
  /** How many places it has. `null`: it is not sealed. */
  readonly places: number | null
  /** How many of them have ended, the completed ones included. */
  readonly ended: number
  /** How many of them are completed. */
  readonly completed: number
  /** It has ended: its follow-ups were added, or are added soon, and no report changes it any more. */
  readonly hasEnded: boolean
  /** The last change, in ms since 1970 by the server's clock. */
  readonly changedAtMs: number
}

/**
 * How a group has ended. `completed`: all its members were completed. `ended`: all have ended, and one of them
 * was not completed. `gone`: there is no such group; it was never created, was removed, was not sealed for a
 * day after its last change, or has ended a day ago.
 */
export type GroupOutcome =
  | { readonly kind: 'completed' | 'ended'; readonly info: GroupInfo }
  | { readonly kind: 'gone'; readonly info: null }

/**
 * What is known of one place of a group. `open`: no end of its member has been reported. `ended`: its member has
 * ended without being completed, or was not added because another item had its id or its unique key.
 * `completed`: its member was completed.
 */
export type PlaceState = 'open' | 'ended' | 'completed'

/** In the order of their numbers in the native half. */
export const PLACE_STATES: readonly PlaceState[] = ['open', 'ended', 'completed']

const GROUP = new Set(['queue', 'id', 'generation'])

/** As the native half takes it. */
export type GroupFields = [queue: string, id: string | Uint8Array, generation: string]

export function groupFields(group: Group): GroupFields {
  const { queue, id, generation } = known(group, 'a group', GROUP)
  return [storedText('queue', queue), bytes('id', id), text('generation', generation)]
}

/** The place of a member; `undefined` if it is in no group. */
export function placeFields(
  group: Group | undefined,
  place: number | undefined,
): [...GroupFields, place: number] | undefined {
  if (group === undefined && place === undefined) return undefined
  if (group === undefined) throw invalid('an item has a place, but no group')
  if (place === undefined) throw invalid('an item has a group, but no place')
  return [...groupFields(group), number('place', place)]
}

/** An id as it comes out. */
export function groupId(id: string | Uint8Array): string | Uint8Array {
  if (typeof id === 'string') return id
  const given = Buffer.from(id)
  const text = given.toString()
  return Buffer.from(text).equals(given) ? text : given
}
