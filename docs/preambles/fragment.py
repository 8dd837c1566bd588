import leaseq


def send(data):
    return data


def main():
    #--- client
    #--- queue < client
    client = leaseq.connect()
    queue = client.queue("emails")
    #--- item < queue
    queue.add_item(leaseq.Item("your order", id="order-17"))
    #--- lease < item
    lease = queue.lease(30)
    #--- lost < lease
    queue.release(lease)
    #--- dead < queue
    queue.add_item(leaseq.Item("your order", id="order-17", max_attempts=1))
    queue.fail(queue.lease(30), "no such address")
    #--- example


main()
