// What users write has to compile, and what is wrong must not.
import {
  type Client,
  ClosedError,
  type CompleteAndLeaseOptions,
  type CompletedAndLeased,
  type CompleteManyOptions,
  connect,
  type Counts,
  type Ending,
  type FailOptions,
  type Item,
  type ItemInfo,
  type Lease,
  LeaseqError,
  type Page,
  type Queue,
  type Releases,
  type ReleaseOptions,
  type State,
  UnavailableError,
} from 'leaseq'

interface Order {
  number: number
}

export async function use(): Promise<void> {
  await using client: Client = await connect(new URL('memory:'), { timeoutMs: 5_000 })
  const queue: Queue = client.queue('orders')
  const item: Item = { json: { number: 17 } satisfies Order, id: 'order-17' }
  const added: boolean = await queue.addItem(item)
  const all: boolean[] = await queue.addItems(['text', new Uint8Array(1), item])
  {
    await using lease: Lease | null = await queue.lease({ durationMs: 1_000, keepAlive: true })
    if (lease !== null) {
      const order: Order = lease.json<Order>()
      const unknown: unknown = lease.json()
      const state: State = await queue.fail(lease, new Error('x'), { delayMs: 5 })
      const endings: readonly Ending[] = lease.endings
      const kind: 'failed' | 'expired' | undefined = endings[0]?.kind
      const releases: Releases | null = lease.releases
      const dead: FailOptions = { dead: true }
      const back: ReleaseOptions = { reason: 'no ink', delayMs: 5 }
      const states: (State | null)[] = await queue.failMany([[lease, 'x']], dead)
      console.log(endings[0]?.atMs, kind, releases?.reason, releases?.count, releases?.firstAtMs)
      console.log(states, await queue.releaseMany([lease], back))
      console.log(order.number, unknown, state, lease.data.readUInt8(0), lease.signal.aborted)
    }
  }
  const signal = AbortSignal.timeout(1_000)
  for await (const lease of queue.leases({ durationMs: 1_000, signal })) {
    const deadline: number = await queue.extend(lease, 5_000)
    const deadlines: (number | null)[] = await queue.extendMany([lease], 5_000)
    const done: boolean = await queue.complete(lease, { strict: true, result: 'x', retainMs: 5 })
    console.log(deadline, deadlines, done)
  }
  let batch: Lease[] = await queue.leaseMany(10, { durationMs: 1_000 })
  const options: CompleteAndLeaseOptions = { durationMs: 1_000, waitMs: 0, strict: true, signal }
  while (batch.length > 0) {
    const next: CompletedAndLeased = await queue.completeAndLease(batch, 10, options)
    console.log(next.completed[0] satisfies boolean | undefined, batch[0]?.isSettled)
    const done: boolean | null | undefined = batch[0]?.completed
    console.log(done)
    batch = next.leases
  }
  for await (const lease of queue.leases({ durationMs: 1_000, complete: true })) lease.text()
  const counts: Counts = await queue.counts({ signal })
  const info: ItemInfo | null = await queue.get(Buffer.from('a'))
  const found: (ItemInfo | null)[] = await queue.getMany(['a'], { data: false, signal })
  console.log(found.length)
  const page: Page = await queue.list('dead', { limit: 5, reverse: true, errorContains: 'no' })
  const dropped: boolean = await queue.dropQueue({ signal })
  console.log(added, all, counts.totals.added, info?.id, page.cursor, dropped)
  console.log(info?.endings[0]?.atMs.toFixed(), info?.releases?.reason.length)
  const kept: Item = {
    data: '',
    retainMs: 5,
    unique: 'k',
    uniqueForMs: 5,
    replace: true,
    successor: true,
    expiresInMs: 5,
  }
  const many: CompleteManyOptions = { results: ['x', null, new Uint8Array(1)], retainMs: 5 }
  const result: Buffer | null | undefined = info?.result
  console.log(await queue.addItem(kept), await queue.completeMany(batch, many), result?.length)
  console.log(info?.unique?.length, info?.uniqueBytes?.length, info?.endedAtMs, info?.retainMs)
  console.log(info?.expiresAtMs)
  console.log(
    counts.completed,
    counts.cancelled,
    counts.totals.replaced,
    counts.totals.expiredUnleased,
  )
}

export function explain(error: unknown): string {
  if (error instanceof UnavailableError) return error.outcomeUnknown ? 'perhaps' : 'no'
  if (error instanceof ClosedError) return 'CLOSED' satisfies typeof error.code
  if (error instanceof LeaseqError) return error.code
  return 'not ours'
}

export function wrong(queue: Queue, lease: Lease): unknown[] {
  return [
    // @ts-expect-error: a number is no data
    queue.addItem(5),
    // @ts-expect-error: an item has data or json
    queue.addItem({ id: 'a' }),
    // @ts-expect-error: not both
    queue.addItem({ data: 'a', json: 1 }),
    // @ts-expect-error: one item has one result
    queue.complete(lease, { results: ['x'] }),
    // @ts-expect-error: many items have many results
    queue.completeMany([lease], { result: 'x' }),
    // @ts-expect-error: a result is bytes or text
    queue.complete(lease, { result: 5 }),
    // @ts-expect-error: a lease has a duration
    queue.lease({}),
    // @ts-expect-error: only a loop completes by itself
    queue.lease({ durationMs: 5, complete: true }),
    // @ts-expect-error: there is no such option
    queue.lease({ durationMs: 5, duration: 5 }),
    // @ts-expect-error: there is no such state
    queue.list('done'),
    // @ts-expect-error: the whole queue, not a state of it
    queue.dropQueue('dead'),
    // @ts-expect-error: a reason is text
    queue.release(lease, { reason: 5 }),
    // @ts-expect-error: only a release has a reason
    queue.fail(lease, 'x', { reason: 'no ink' }),
    // @ts-expect-error: what has happened cannot be changed
    lease.endings.push({ kind: 'failed', atMs: 0 }),
    // @ts-expect-error: a schedule has a rule
    queue.putSchedule('s', 'x', { overlap: true }),
    // @ts-expect-error: not both
    queue.putSchedule('s', 'x', { cron: '0 9 * * *', everyMs: 5_000 }),
    // @ts-expect-error: an interval has no zone
    queue.syncSchedules('app', 1, [{ name: 's', item: 'x', everyMs: 5_000, zone: 'UTC' }]),
    // @ts-expect-error: the name cannot be changed
    (lease.queue = 'another'),
    // @ts-expect-error: what is internal is not there
    lease._holder,
  ]
}
