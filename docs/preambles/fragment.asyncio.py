import asyncio

import leaseq
import leaseq.asyncio


async def send(data):
    return data


async def main():
    #--- client
    #--- queue < client
    client = await leaseq.asyncio.connect()
    queue = client.queue("emails")
    #--- item < queue
    await queue.add_item(leaseq.Item("your order", id="order-17"))
    #--- lease < item
    lease = await queue.lease(30)
    #--- lost < lease
    await queue.release(lease)
    #--- dead < queue
    await queue.add_item(leaseq.Item("your order", id="order-17", max_attempts=1))
    await queue.fail(await queue.lease(30), "no such address")
    #--- example


asyncio.run(main())
