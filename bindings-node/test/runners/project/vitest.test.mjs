import { connect } from 'leaseq'
import { worker } from 'leaseq/jobs'
import * as testing from 'leaseq/testing'
import { expect, test } from 'vitest'
import * as app from './app.mjs'
import suite from './suite.cjs'

const file = new URL('app.mjs', import.meta.url)
suite({ test, expect, connect, testing, worker, app, file })
