package pginbox_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	osexec "os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill-kafka/v3/pkg/kafka"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
)

// Environment of this test binary when it runs as a consumer.
const (
	envStormDatabase = "LEAT_TEST_STORM_DATABASE"
	envStormBrokers  = "LEAT_TEST_STORM_BROKERS"
	envStormTopic    = "LEAT_TEST_STORM_TOPIC"
	envStormGroup    = "LEAT_TEST_STORM_GROUP"
	envStormMember   = "LEAT_TEST_STORM_MEMBER"
	envStormNaive    = "LEAT_TEST_STORM_NAIVE" // without the inbox
)

// stormHandler writes an effect. Now and then it fails, or pauses where a kill would hurt most. It prints
// "run" when it begins.
func stormHandler(write func(ctx context.Context, id string) error) message.NoPublishHandlerFunc {
	return func(msg *message.Message) error {
		fmt.Println("run")
		if err := write(msg.Context(), msg.UUID); err != nil {
			return err
		}
		switch rand.IntN(200) {
		case 0:
			return errors.New("the handler fails now and then")
		case 1:
			<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
		return nil
	}
}

// toldEnd is the outermost middleware. It prints "end" when the outcome of a delivery is known but not
// acknowledged yet, and now and then pauses there.
func toldEnd(next message.HandlerFunc) message.HandlerFunc {
	return func(msg *message.Message) ([]*message.Message, error) {
		produced, err := next(msg)
		fmt.Println("end")
		if rand.IntN(200) == 0 {
			<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond)
		}
		return produced, err
	}
}

// stormProcess is the main function of the process: it consumes until SIGTERM.
func stormProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv(envStormDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	router, err := message.NewRouter(message.RouterConfig{CloseTimeout: 20 * time.Second}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	sub, err := stormSubscriber()
	if err != nil {
		return err
	}
	router.AddMiddleware(toldEnd)
	if os.Getenv(envStormNaive) == "" {
		in, err := pginbox.New(pool, "storm", pginbox.Config{Config: inbox.Config{BusyDelay: 5 * time.Millisecond}})
		if err != nil {
			return err
		}
		once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
		if err != nil {
			return err
		}
		router.AddMiddleware(once)
	}
	router.AddConsumerHandler("storm", os.Getenv(envStormTopic), sub, stormHandler(func(ctx context.Context, id string) error {
		if tx := pginbox.Tx(ctx); tx != nil {
			_, err := tx.Exec(ctx, "INSERT INTO effects VALUES ($1)", id)
			return err
		}
		_, err := pool.Exec(ctx, "INSERT INTO effects VALUES ($1)", id)
		return err
	}))
	return router.Run(ctx)
}

// stormSubscriber returns a static member of the group: after a kill it gets its partitions back at once.
func stormSubscriber() (message.Subscriber, error) {
	cfg := kafka.DefaultSaramaSubscriberConfig()
	cfg.Version = sarama.V2_8_0_0
	cfg.Consumer.Offsets.Initial = sarama.OffsetOldest
	cfg.Consumer.Offsets.AutoCommit.Interval = 200 * time.Millisecond
	cfg.Consumer.Group.InstanceId = os.Getenv(envStormMember)
	return kafka.NewSubscriber(kafka.SubscriberConfig{
		Brokers: strings.Split(os.Getenv(envStormBrokers), ","), ConsumerGroup: os.Getenv(envStormGroup),
		OverwriteSaramaConfig: cfg, Unmarshaler: kafka.DefaultMarshaler{}, NackResendSleep: time.Millisecond,
	}, watermill.NopLogger{})
}

// consumer is a consumer in a process of its own.
type consumer struct {
	cmd  *osexec.Cmd
	done chan struct{} // closed when it has ended
	err  error

	runs, ends atomic.Int64
	doom       atomic.Pointer[doom]
	killedAt   atomic.Value // the word at which it was killed
}

// doom kills a consumer when this many handlers have begun or this many deliveries have ended, whichever
// comes first.
type doom struct{ runs, ends int64 }

// hear counts a word that the consumer printed, and kills the consumer if its time has come.
func (c *consumer) hear(word string) {
	d, said := c.doom.Load(), &c.ends
	if word == "run" {
		said = &c.runs
	}
	n := said.Add(1)
	if d == nil || word == "run" && n != d.runs || word == "end" && n != d.ends {
		return
	}
	if c.cmd.Process.Kill() == nil {
		c.killedAt.Store(word)
	}
}

// spawnConsumer starts a consumer, which is killed when the test ends.
func spawnConsumer(t *testing.T, environ ...string) *consumer {
	t.Helper()
	c := &consumer{done: make(chan struct{})}
	c.cmd = osexec.Command(os.Args[0])
	c.cmd.Env = append(os.Environ(), environ...)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.cmd.Start())
	go func() {
		defer close(c.done)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.hear(lines.Text())
		}
		c.err = c.cmd.Wait()
	}()
	t.Cleanup(c.kill)
	return c
}

// ended reports whether the process has ended.
func (c *consumer) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// kill ends the process with SIGKILL, and returns when all of its output has been heard.
func (c *consumer) kill() {
	_ = c.cmd.Process.Kill() // it may have ended already
	<-c.done
}

// stop asks the process to end and waits for it.
func (c *consumer) stop() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-c.done
	return c.err
}

// stormSize returns the number of messages: by default, enough for four consumers to be killed often.
// LEAT_TEST_STORM=100000 asks for a million deliveries, which take minutes.
func stormSize(t *testing.T) int {
	t.Helper()
	given := os.Getenv("LEAT_TEST_STORM")
	if given == "" {
		return 1000
	}
	messages, err := strconv.Atoi(given)
	require.NoError(t, err)
	return messages
}
