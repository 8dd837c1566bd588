import 'reflect-metadata'

import { fileURLToPath } from 'node:url'

import {
  type BeforeApplicationShutdown,
  Body,
  Controller,
  type DynamicModule,
  Get,
  HttpException,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Param,
  Post,
  HttpCode,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type Client, connect } from 'leaseq'
import { worker } from 'leaseq/jobs'

import { jobs } from './jobs.mjs'

const CLIENT = Symbol('client')

@Controller('orders')
export class OrdersController {
  constructor(@Inject(CLIENT) private readonly client: Client) {}

  @Post()
  @HttpCode(202)
  async create(@Body('to') to: unknown) {
    if (typeof to !== 'string') throw new HttpException({ error: 'to is missing' }, 400)
    const { id, added } = await jobs.enqueue(this.client, 'order.confirm', { to }, { unique: to })
    if (!added) throw new HttpException({ id, added }, 409)
    return { id, added }
  }

  @Get(':id')
  async look(@Param('id') id: string) {
    const outcome = await jobs.ref(this.client, 'order.confirm', id).wait({ waitMs: 0 })
    if (outcome?.kind === 'gone') throw new HttpException({ error: 'no such order' }, 404)
    const json = outcome?.kind === 'completed' ? outcome.result : null
    const result: unknown = json && JSON.parse(json.toString())
    return { state: outcome?.kind ?? 'pending', result }
  }
}

@Injectable()
export class Confirmations {
  confirm(to: string): string {
    return `confirmed for ${to}`
  }
}

/** Runs handlers in this process, which may use any provider. */
@Injectable()
export class OrderWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly worker

  constructor(@Inject(CLIENT) client: Client, @Inject(Confirmations) confirmations: Confirmations) {
    this.worker = worker(client, jobs, {
      'order.confirm': ({ args }) => confirmations.confirm((args as { to: string }).to),
    })
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.worker.start()
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.worker.stop()
  }
}

@Module({})
export class OrdersModule implements OnApplicationShutdown {
  constructor(@Inject(CLIENT) private readonly client: Client) {}

  static with(client: Client, { runsJobs = false } = {}): DynamicModule {
    return {
      module: OrdersModule,
      controllers: [OrdersController],
      providers: [
        { provide: CLIENT, useValue: client },
        ...(runsJobs ? [Confirmations, OrderWorker] : []),
      ],
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.client.close()
  }
}

/** With `runsJobs`, the server runs the jobs itself; otherwise `npx leaseq-jobs ./worker.mjs` does. */
export async function server(client: Client, options?: { runsJobs?: boolean }) {
  const app = await NestFactory.create(OrdersModule.with(client, options), { logger: ['error'] })
  // SIGTERM calls the methods above.
  return app.enableShutdownHooks()
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const app = await server(await connect(), { runsJobs: true })
  await app.listen(3000, '127.0.0.1')
}
