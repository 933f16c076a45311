package main

// The whole program, as `make hello` runs it.
func Example() {
	main()
	// Output:
	// A shop places orders. Each is one transaction: the order, and its event in the outbox.
	//   shop     order-1 committed, 30 euro
	//   shop     order-2 rolled back, card declined: its event never existed
	//   shop     order-3 committed, 12 euro
	//
	// A relay carries what was committed to the broker, which is unavailable.
	//   broker   refuses order-1: connection refused
	//   outbox   keeps both events
	//
	// The broker is back, and a loyalty service counts a point a euro.
	//   broker   takes and delivers order-1
	//   loyalty  handler runs for order-1
	//   broker   takes and delivers order-3
	//   loyalty  handler runs for order-3
	//
	// The broker delivers order-1 once more, as every broker does some day.
	//   broker   delivers order-1 again
	//   loyalty  knows the message's id: no handler runs
	//
	// 3 deliveries, 2 runs of the handler, 42 points: nothing lost, nothing twice.
}
