// Groups of jobs.
import { invalid } from '../errors'
import type { Group, GroupOutcome, PlaceState } from '../group'
import type { Queue } from '../queue'
import type { Item } from '../types'
import { CHAINS, type FollowUpJob, followUpItems, type Prepared } from './prepared'
import type { JobRef, WaitOptions } from './ref'

export const GROUP: ReadonlySet<string> = new Set([...CHAINS, 'queue', 'signal'])
const MAX_PLACES = 100_000

/** A group of jobs that was added. */
export class EnqueuedGroup {
  /** Names the group: see `Queue.group`. */
  readonly group: Group
  /** Its members, in their order. `added` is false for those that were there. */
  readonly jobs: JobRef[]
  readonly #queue: Queue

  /** @internal */
  constructor(group: Group, jobs: JobRef[], queue: Queue) {
    this.group = group
    this.jobs = jobs
    this.#queue = queue
  }

  /** Waits until all members have ended, and resolves to how; `null`: they have not within `waitMs`. */
  async wait({ waitMs, signal }: WaitOptions = {}): Promise<GroupOutcome | null> {
    const options = { signal, ...(waitMs === undefined ? {} : { waitMs }) }
    const outcome = await this.#queue.groupOutcome(this.group.id, options)
    // Otherwise another one has its id by now.
    const isOwn = !outcome?.info || outcome.info.group.generation === this.group.generation
    return isOwn ? outcome : { kind: 'gone', info: null }
  }

  /** Cancels all its jobs that have not ended. False: the group has ended, or is gone. */
  cancel({ signal }: { signal?: AbortSignal | undefined } = {}): Promise<boolean> {
    return this.#queue.cancelGroup(this.group, { signal })
  }
}

interface NewJobGroup {
  queue: Queue
  id: string
  members: readonly Prepared[]
  followUps: readonly FollowUpJob[]
  signal: AbortSignal | undefined
  /** Adds jobs, as these items. */
  add: (jobs: Prepared[], items: Item[]) => Promise<JobRef[]>
  /** A reference to a job that was added before. */
  ref: (job: Prepared) => JobRef
}

/** Adds a group, or what is missing of it. */
export async function addGroup(given: NewJobGroup): Promise<EnqueuedGroup> {
  const { queue, id, members, followUps, signal } = given
  const places = members.length
  if (places < 1 || places > MAX_PLACES) {
    throw invalid(`group ${id}: ${places} jobs, not between 1 and ${MAX_PLACES}`)
  }
  // All of them first: if any is invalid, nothing is added.
  const items = members.map((job) => job.item())
  const options = { followUps: followUpItems(followUps, queue.name), signal }
  const group = await queue.createGroup(id, options)
  const refused = () =>
    invalid(`queue ${queue.name}, group ${id}: it was added with another number of jobs`)
  const info = await queue.group(group.id, { signal })
  if (info !== null && (info.places ?? places) !== places) throw refused()
  // A new group has no place that is filled.
  const states = info?.ended ? await placesOf(queue, group, places, signal) : []
  const missing = [...members.keys()].filter((place) => (states[place] ?? 'open') === 'open')
  const added = await given.add(
    missing.map((place) => members[place]!),
    missing.map((place) => ({ ...items[place]!, group, place })),
  )
  const jobs = members.map(given.ref)
  missing.forEach((place, i) => {
    jobs[place] = added[i]!
  })
  if (!(await queue.sealGroup(group, places, { signal }))) {
    throw refused()
  }
  return new EnqueuedGroup(group, jobs, queue)
}

/** The states of its places. */
async function placesOf(
  queue: Queue,
  group: Group,
  places: number,
  signal: AbortSignal | undefined,
): Promise<PlaceState[]> {
  const states: PlaceState[] = []
  while (states.length < places) {
    const more = await queue.groupPlaces(group, { first: states.length, signal })
    if (more.length === 0) break
    states.push(...more)
  }
  return states
}
