// What programs test with `leaseq/testing`, for any test runner.
module.exports = function suite({ test, expect, connect, testing, worker, app, file }) {
  const { Clock, inline, memory, runUntilIdle } = testing
  const { jobs, handlers, NoPaper } = app

  test('an hour later', async () => {
    const clock = new Clock(new Date('2030-01-01T00:00:00Z'))
    const client = await memory({ clock })
    const ref = await jobs.enqueue(client, 'greet', { to: 'ada' }, { delayMs: 3_600_000 })
    expect(await runUntilIdle(client, jobs, handlers)).toBe(0)
    clock.advance(3_600_000)
    expect(await runUntilIdle(client, jobs, handlers)).toBe(1)
    expect(await ref.result({ waitMs: 0 })).toEqual({ text: 'welcome, ada' })
    await client.close()
  })

  test('without a worker', async () => {
    const running = await inline(jobs, handlers)
    const ref = await jobs.enqueue(undefined, 'greet', { to: 'bob' })
    expect(await ref.result()).toEqual({ text: 'welcome, bob' })
    await expect(jobs.enqueue(undefined, 'print', {})).rejects.toThrow(NoPaper)
    await running.close()
  })

  test('what is wrong is refused', async () => {
    const client = await memory()
    await expect(jobs.enqueue(client, 'greet', { to: NaN })).rejects.toMatchObject({
      code: 'INVALID',
    })
    await client.close()
  })

  test('bytes stay what they are', async () => {
    const client = await connect('memory:')
    const queue = client.queue('bytes')
    await queue.addItem({ id: Buffer.from([1]), data: new Uint8Array([0, 255]) })
    const lease = await queue.lease({ durationMs: 30_000 })
    expect([...lease.data]).toEqual([0, 255])
    expect(await queue.complete(lease)).toBe(true)
    await client.close()
  })

  for (const where of ['processes', 'threads']) {
    test(`handlers in ${where}`, async () => {
      const client = await memory()
      const ref = await jobs.enqueue(client, 'greet', { to: 'cy' })
      const exit = await worker(client, file, { [where]: 1 }).runUntilIdle()
      expect(exit).toMatchObject({ started: 1, status: 0 })
      expect(await ref.result({ waitMs: 0 })).toEqual({ text: 'welcome, cy' })
      await client.close()
    }, 60_000)
  }
}
