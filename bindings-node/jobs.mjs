// One implementation for both module systems: a decision or an error is the same class in each.
import jobs from './dist/jobs/index.js'

export const {
  Bury,
  ChildWorker,
  currentJob,
  Decision,
  defineJobs,
  Discard,
  Job,
  job,
  JobCancelledError,
  JobFailedError,
  JobGoneError,
  JobNotRetainedError,
  JobRef,
  JobRemovedError,
  Jobs,
  JobTimeoutError,
  RetryAfter,
  Snooze,
  ThreadWorker,
  Worker,
  worker,
} = jobs
