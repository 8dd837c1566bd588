// What pages do while somebody looks and others work: they change without being loaded again. The argument is JSON:
// { url, token, large, folder }. Lines on the standard output tell the test what to do; it answers each with "ok".
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { until, untilDrawn } from './until.mjs'

const { url, token, large, folder } = JSON.parse(process.argv[2])
const executablePath = process.env.LEASEQ_CHROMIUM ?? '/usr/bin/chromium-headless-shell'
const answers = createInterface(process.stdin)[Symbol.asyncIterator]()
let failures = 0
/** @type {Promise<unknown>} */
let last = Promise.resolve()

/** One after the other, whoever asks. */
function tell(command) {
  const done = last.then(async () => {
    console.log(`@${command}`)
    const { value } = await answers.next()
    if (value !== 'ok') throw new Error(`${command}: ${value}`)
  })
  last = done.catch(() => undefined)
  return done
}

const browser = await chromium.launch({ executablePath, chromiumSandbox: false })
const context = await browser.newContext({ viewport: { width: 1280, height: 860 } })
context.setDefaultTimeout(40_000)
const first = await context.newPage()
await first.goto(`${url}login`)
await first.getByLabel('Token').fill(token)
await first.getByRole('button', { name: 'Sign in' }).click()
await first.waitForURL(url)

function expect(condition, what) {
  if (!condition) throw new Error(what)
}

/** A page that must not be loaded again. */
async function open(path) {
  const page = await context.newPage()
  page.on('pageerror', (error) => (failures += 1, console.error(`${path}: ${error}`)))
  await page.goto(url + path)
  await page.evaluate("document.body.dataset.mark = 'the same page'")
  return page
}

const same = async (page) => expect((await page.evaluate('document.body.dataset.mark')) === 'the same page', `${page.url()} was loaded again`)
const row = (page, key) => page.locator(`[data-rows] > [data-key="${key}"]`)

/** Waits until the page has asked, and heard that nothing has changed. It gets what its browser has kept, so only this
 *  sees the status. */
async function unchanged(page, path) {
  const session = await context.newCDPSession(page)
  const asked = new Set()
  const heard = new Promise((resolve, reject) => {
    session.on('Network.requestWillBeSent', ({ requestId, request }) => request.url.includes(path) && asked.add(requestId))
    session.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => asked.has(requestId) && statusCode === 304 && resolve(undefined))
    setTimeout(() => reject(new Error(`${path}: there is always something new`)), 40_000).unref()
  })
  await session.send('Network.enable')
  await heard
  await session.detach()
}

const picture = (page, name) => page.screenshot({ path: join(folder, `${name}-live.png`), fullPage: true })

async function leases() {
  const page = await open('queues/mail/leases')
  await page.getByText('Nothing is leased').waitFor()
  await tell('lease a 600')
  await row(page, 'a').waitFor()
  await page.getByText('Nothing is leased').waitFor({ state: 'hidden' })
  await tell('lease b 900')
  await row(page, 'b').waitFor()
  await unchanged(page, '/leases/now')
  // The rest of the time goes on without an answer.
  const left = await row(page, 'b').locator('time').first().textContent()
  await until(page, `document.querySelector('[data-key="b"] time').textContent !== ${JSON.stringify(left)}`)
  await row(page, 'a').getByRole('link').focus()
  await page.evaluate("getSelection().selectAllChildren(document.querySelector('[data-key=\"b\"] bdi'))")
  await tell('extend a 1200')
  await until(page, "[...document.querySelectorAll('[data-rows=leases] > [data-key]')].map((row) => row.dataset.key).join() === 'b,a'")
  expect((await page.evaluate("document.activeElement.closest('tr')?.dataset.key")) === 'a', 'the focus is gone')
  expect((await page.evaluate('String(getSelection())')) === 'b', 'the selection is gone')
  await tell('release b')
  await row(page, 'b').waitFor({ state: 'detached' })
  expect((await page.evaluate("document.activeElement.closest('tr')?.dataset.key")) === 'a', 'the focus is gone')
  return page
}

async function tasks() {
  const list = await open('tasks')
  await list.getByText('No bulk changes').waitFor()
  const page = await open('queues/bulk?state=dead')
  await page.getByRole('button', { name: 'requeue…' }).click()
  await page.getByRole('button', { name: /^requeue \d/ }).waitFor()
  const key = page.url().split('/').at(-1)
  await row(list, key).getByText('previewed').waitFor()
  await unchanged(list, '/tasks/now')
  await row(list, key).getByRole('link').focus()
  const viewer = await open(`tasks/${key}`)
  await viewer.getByRole('button', { name: 'Do nothing' }).focus()
  await unchanged(viewer, `/tasks/${key}/now`)
  await page.getByRole('button', { name: /^requeue \d/ }).click()
  await viewer.getByText('3 of 3 items changed').waitFor()
  await picture(viewer, 'task-done')
  await row(list, key).locator('.badge.good', { hasText: 'done' }).waitFor()
  expect((await list.evaluate("document.activeElement.closest('tr')?.dataset.key")) === key, 'the focus is gone')
  await Promise.all([same(list), same(viewer)])
  return list
}

/** The charts of a day or a month are first those of some queues. */
async function overview() {
  const first = await context.request.get(`${url}?span=day`)
  expect((await first.text()).includes('of 4 queues so far'), 'all histories were read at once')
  const page = await open('?span=month')
  await picture(page, 'overview-pending')
  await page.locator('#pending').waitFor({ state: 'hidden' })
  await untilDrawn(page)
  await same(page)
}

async function workers() {
  const page = await open('workers')
  await page.getByText('No workers').waitFor()
  await tell('beat one p q')
  const worker = page.getByRole('region', { name: 'Worker one' })
  await worker.getByText('2 of 4 in use').waitFor()
  await page.getByText('No workers').waitFor({ state: 'hidden' })
  await unchanged(page, '/workers/now')
  // What somebody has opened stays open.
  await worker.getByText('Stop', { exact: true }).click()
  const stop = worker.getByRole('button', { name: 'Stop it' })
  await stop.focus()
  await tell('beat two')
  await page.getByRole('region', { name: 'Worker two' }).getByText('Runs nothing now.').waitFor()
  await tell('beat one q r')
  await worker.getByRole('link', { name: 'r', exact: true }).waitFor()
  expect((await worker.getByRole('row').allTextContents()).length === 3, 'p is still there')
  expect((await stop.evaluate((button) => button === document.activeElement)), 'the focus is gone')
  await tell('quiet one')
  await worker.getByText('quiet', { exact: true }).waitFor()
  expect((await worker.locator('form[action$="/quiet"]').isHidden()), 'quiet twice')
  await picture(page, 'workers')
  await same(page)
}

async function health() {
  const page = await open('health')
  await row(page, 'mail').getByText('none', { exact: true }).waitFor()
  await row(page, 'mail').getByRole('button', { name: 'Check', exact: true }).focus()
  const other = await open('health')
  await row(other, 'mail').getByRole('button', { name: 'Check', exact: true }).click()
  await row(page, 'mail').locator('.badge.good', { hasText: 'sound' }).waitFor()
  await unchanged(page, '/health/now')
  await tell('late')
  await row(page, 'late').getByText('nobody cleans').waitFor()
  await picture(page, 'health-late')
  await tell('clean')
  await row(page, 'late').getByText('nobody cleans').waitFor({ state: 'hidden' })
  const focused = await page.evaluate("document.activeElement.textContent + document.activeElement.closest('tr')?.dataset.key")
  expect(focused === 'Checkmail', `the focus is on ${focused}`)
  return page
}

async function search() {
  const page = await open('queues/large?state=ready&data=nothing')
  const button = page.locator('#search-on')
  const said = page.locator('#searched')
  const before = await said.textContent()
  const next = () => page.locator('a[data-search]').getAttribute('href')
  const here = await next()
  await picture(page, 'search-large')
  await button.click()
  await until(page, `document.querySelector('#searched').textContent !== ${JSON.stringify(before)}`)
  await button.click()
  // "Continue" goes on from where it was stopped.
  await until(page, `document.querySelector('a[data-search]').getAttribute('href') !== ${JSON.stringify(here)}`)
  await same(page)
  await button.click()
  await page.getByText(`Examined ${large} of ${large} ready items.`).waitFor()
  expect((await button.count()) === 0, 'there is more to search')
  await page.goto(`${url}queues/large?state=ready&data=the+last+one`)
  await button.click()
  await page.getByRole('link', { name: 'last', exact: true }).waitFor()
}

/** The server of the queues hangs, and goes on. */
async function outage(pages) {
  await tell('pause')
  for (const page of pages) await page.locator('#lost').waitFor()
  await picture(pages[0], 'leases-lost')
  for (const page of pages) expect((await page.locator('[data-rows] > [data-key]').count()) > 0, `${page.url()} is empty`)
  await tell('resume')
  for (const page of pages) await page.locator('#lost').waitFor({ state: 'hidden' })
  await tell('lease c 600')
  await row(pages[0], 'c').waitFor()
  for (const page of pages) await same(page)
}

try {
  const [one, two] = await Promise.all([leases(), health(), tasks(), search(), workers(), overview()])
  await outage([one, two])
} catch (error) {
  failures += 1
  console.error(error)
}
await browser.close()
process.exit(failures > 0 ? 1 : 0)
