export * from './dist/jobs/index.js'
