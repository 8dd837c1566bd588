/**
 * Jobs: "call this function later, elsewhere, with retries". `defineJobs` names them, for producers and
 * workers; `worker` runs them.
 */
export { currentJob, Job } from './context'
export {
  Bury,
  type CancelReason,
  Decision,
  Discard,
  JobCancelledError,
  JobFailedError,
  JobGoneError,
  JobNotRetainedError,
  JobRemovedError,
  JobTimeoutError,
  RetryAfter,
  Snooze,
} from './decisions'
export {
  type ArgsIn,
  type ArgsOut,
  defineJobs,
  type Enqueued,
  type EnqueueGroupOptions,
  type EnqueueMiddleware,
  type EnqueueOptions,
  job,
  type JobOptions,
  Jobs,
  type JobsOptions,
  type JobTable,
  type JobType,
  type KeyOf,
  type NewJob,
  type Returned,
  type ValueOf,
} from './define'
export type { EnqueuedGroup } from './job_group'
export { ChildWorker } from './child_worker'
export { ThreadWorker } from './thread_worker'
export type {
  ChildWorkerOptions,
  CommonOptions,
  Middleware,
  ThreadWorkerOptions,
  WorkerEvent,
  WorkerOptions,
} from './options'
export type { JobOutcome } from './host'
export type { Exit, RunOptions } from './lifecycle'
export { JobRef, type WaitOptions } from './ref'
export type { ErrorClass, Retry } from './retry'
export type { StandardSchema } from './schema'
export { type Handler, type Handlers, Worker, worker } from './worker'
