// The module with the jobs of a worker and their handlers.
import { invalid } from '../errors'
import { type JobTable, Jobs } from './define'
import type { Middleware } from './options'
import type { AnyHandler } from './runner'

export interface Loaded {
  readonly jobs: Jobs<JobTable>
  readonly handlers: Record<string, AnyHandler>
  readonly middleware: readonly Middleware[]
}

/** What a module exports, by names or as its default. `name` is for errors. */
export async function load(url: string, name: string): Promise<Loaded> {
  // Not `require`, which TypeScript would make of it, and which knows no ECMAScript modules.
  const load = new Function('url', 'return import(url)') as (url: string) => Promise<object>
  const module = (await load(url)) as Partial<Loaded> & { default?: Partial<Loaded> }
  const jobs = module.jobs ?? module.default?.jobs
  const handlers = module.handlers ?? module.default?.handlers
  const middleware = module.middleware ?? module.default?.middleware ?? []
  if (!(jobs instanceof Jobs)) throw invalid(`${name} exports no \`jobs\` of \`defineJobs\``)
  if (typeof handlers !== 'object') throw invalid(`${name} exports no \`handlers\``)
  if (!Array.isArray(middleware)) throw invalid(`${name}: its \`middleware\` is no list`)
  return { jobs, handlers: { ...handlers }, middleware: [...(middleware as Middleware[])] }
}
