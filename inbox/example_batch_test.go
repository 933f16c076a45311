package inbox_test

import (
	"context"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/meminbox"
)

// One message of a batch fails. The others take effect without it.
func ExampleBatch_Process() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var effects []string
	errs := batch.Process(context.Background(), []*message.Message{
		message.NewMessage("1", nil), message.NewMessage("bad", nil), message.NewMessage("3", nil), message.NewMessage("1", nil),
	}, func(ctx context.Context, msgs []*message.Message) error {
		for i, msg := range msgs {
			if msg.UUID == "bad" {
				return &inbox.MessageError{Index: i, Err: context.DeadlineExceeded}
			}
			meminbox.OnCommit(ctx, func() { effects = append(effects, msg.UUID) })
		}
		return nil
	})
	for _, err := range errs {
		fmt.Println(err)
	}
	fmt.Println(effects)
	// Output:
	// <nil>
	// context deadline exceeded
	// <nil>
	// <nil>
	// [1 3]
}

// A handler of single messages, whose messages share a transaction. One fails: what ran
// before it in the transaction runs again.
func ExampleBatch_HandleEach() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	var runs, effects []string
	process := batch.HandleEach(func(ctx context.Context, msg *message.Message) error {
		runs = append(runs, msg.UUID)
		if msg.UUID == "bad" {
			return context.DeadlineExceeded
		}
		meminbox.OnCommit(ctx, func() { effects = append(effects, msg.UUID) })
		return nil
	})
	errs := process(context.Background(), []*message.Message{
		message.NewMessage("1", nil), message.NewMessage("2", nil), message.NewMessage("bad", nil), message.NewMessage("4", nil),
	})
	fmt.Println(errs)
	fmt.Println("runs:", runs)
	fmt.Println("effects:", effects)
	// Output:
	// [<nil> <nil> context deadline exceeded <nil>]
	// runs: [1 2 bad 1 2 bad 4]
	// effects: [1 2 4]
}

// Batches of what a subscriber has in flight, without a router.
func ExampleBatcher_Run() {
	in, err := meminbox.New("loyalty", meminbox.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	batch, err := inbox.NewBatch(in.Processor, inbox.BatchConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	batcher, err := inbox.NewBatcher(batch.Handle(func(_ context.Context, msgs []*message.Message) error {
		fmt.Println(len(msgs), "messages")
		return nil
	}), inbox.BatcherConfig{MaxMessages: 3})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	subscriber := newRedeliverer("a", "b", "c")
	go func() {
		for range 3 {
			<-subscriber.acked
		}
		stop()
	}()
	fmt.Println(batcher.Run(ctx, subscriber, "orders"))
	// Output:
	// 3 messages
	// <nil>
}
