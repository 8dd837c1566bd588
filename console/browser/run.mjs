// Visits every page in a real browser: no error, no violation of the policy or of accessibility, nothing wider than the
// window. Takes a picture of each. The argument is JSON: { folder, consoles: [{ name, url, token, javaScript, sizes }] }.
import { readFileSync, mkdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { untilDrawn } from './until.mjs'

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const { folder, consoles } = JSON.parse(process.argv[2])
const executablePath = process.env.LEASEQ_CHROMIUM ?? '/usr/bin/chromium-headless-shell'
let failures = 0
let pages = 0

function fail(/** @type {string} */ what) {
  failures += 1
  console.error(what)
}

mkdirSync(folder, { recursive: true })
const browser = await chromium.launch({ executablePath, chromiumSandbox: false })

/** Signs in, and visits all pages of a console with one look. */
async function visit(target, colorScheme, width) {
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 860 },
    colorScheme,
    javaScriptEnabled: target.javaScript,
    reducedMotion: 'reduce',
    timezoneId: 'Europe/Berlin',
    locale: 'en-GB',
  })
  const page = await context.newPage()
  const look = `${target.name} ${colorScheme} ${width}`
  const wrong = (what) => fail(`${look}: ${page.url()}: ${what}`)
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type()) && !/status of (4|5)\d\d/.test(message.text())) wrong(message.text())
  })
  page.on('pageerror', (error) => wrong(error.message))
  page.on('dialog', (dialog) => (wrong(`dialog: ${dialog.message()}`), dialog.dismiss()))
  if (target.token) {
    await page.goto(`${target.url}login`)
    await check(page, target, 'login', look, wrong)
    await page.getByLabel('Token').fill(target.token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(target.url)
  }
  for (const [name, path] of target.pages) {
    await page.goto(target.url + path, { waitUntil: 'load' })
    await check(page, target, name, look, wrong)
  }
  await context.close()
}

async function check(page, target, name, look, wrong) {
  pages += 1
  if (target.javaScript) await untilDrawn(page)
  const file = `${name} ${look}.png`.replaceAll(/[^a-z0-9.]+/g, '-')
  if (target.pictures) await page.screenshot({ path: join(folder, file), fullPage: true })
  if (!target.javaScript) return
  const wide = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth')
  if (wide > 0) wrong(`${wide} px wider than the window`)
  await page.evaluate(axe)
  const found = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
  for (const { id, help, nodes } of found.violations) {
    wrong(`${id}: ${help}: ${nodes.slice(0, 3).map((node) => `${node.html.slice(0, 160)} ${node.any[0]?.message ?? ''}`).join(' | ')}`)
  }
}

/** What a user does with the keyboard and the mouse. */
async function use(target) {
  const { url, token } = target
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, timezoneId: 'Asia/Kolkata' })
  const page = await context.newPage()
  const expect = (condition, what) => condition || fail(`use: ${page.url()}: ${what}`)
  await page.goto(`${url}login`)
  // Pages are loaded before the browser has moved the focus.
  await page.locator('#token:focus').waitFor()
  await page.keyboard.type(token)
  await page.keyboard.press('Enter')
  await page.waitForURL(url)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${url}#main`).catch(() => expect(false, 'the first Tab does not reach "Skip to content"'))
  await page.goto(`${url}queues/mail?state=dead`)
  const before = await page.getByRole('checkbox').count()
  await page.getByRole('checkbox').first().check()
  await page.getByRole('button', { name: 'requeue', exact: true }).click()
  await page.getByRole('status').waitFor()
  expect((await page.getByRole('status').first().textContent()).includes('Requeued 1 item'), 'no note')
  expect((await page.getByRole('checkbox').count()) <= before, 'the item is still dead')
  // Another viewer sees it without loading the page again.
  const other = await context.newPage()
  await other.goto(url)
  await other.evaluate("document.body.dataset.mark = 'the same page'")
  await page.getByRole('button', { name: 'Pause' }).click()
  const row = other.locator('tr[data-queue="mail"]')
  await row.getByText('paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Resume' }).click()
  await row.getByText('paused', { exact: true }).waitFor({ state: 'hidden' })
  expect((await other.evaluate('document.body.dataset.mark')) === 'the same page', 'the page was loaded again')
  await other.getByText('Show as a table').click()
  expect((await other.getByRole('table').count()) === 2, 'no table of the history')
  const asOf = other.locator('#as-of')
  expect((await asOf.textContent()).endsWith('GMT+5:30'), 'times are not local')
  await other.getByRole('button', { name: 'Show times in UTC' }).click()
  await other.reload()
  expect((await asOf.textContent()).endsWith('UTC'), 'times are not in UTC')
  await other.close()
  await page.goto(`${url}queues/mail?state=dead`)
  await page.getByRole('button', { name: 'requeue…' }).click()
  await page.getByRole('button', { name: /^requeue \d/ }).waitFor()
  await check(page, target, 'task', `${target.name} light 1280`, (what) => fail(`use: ${page.url()}: ${what}`))
  await page.getByRole('button', { name: 'Do nothing' }).click()
  await page.getByText('stopped', { exact: true }).waitFor()
  await page.goto(`${url}tasks`)
  await check(page, target, 'tasks-some', `${target.name} light 1280`, (what) => fail(`use: ${page.url()}: ${what}`))
  await context.close()
}

for (const target of consoles) {
  for (const [colorScheme, width] of target.looks) await visit(target, colorScheme, width)
}
for (const target of consoles.filter(({ use }) => use)) await use(target)
await browser.close()
console.log(`${pages} pages, ${failures} failures`)
process.exit(failures > 0 || pages === 0 ? 1 : 0)
