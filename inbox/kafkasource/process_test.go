package kafkasource_test

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/leat-go/leat/inbox"
	"github.com/leat-go/leat/inbox/kafkasource"
	"github.com/leat-go/leat/inbox/pginbox"
	"github.com/leat-go/leat/middleware"
)

// Environment of this test binary when it is executed again as a consumer.
const (
	envConsumerDatabase = "LEAT_TEST_CONSUMER_DATABASE"
	envConsumerBrokers  = "LEAT_TEST_CONSUMER_BROKERS"
	envConsumerTopic    = "LEAT_TEST_CONSUMER_TOPIC"
	envConsumerGroup    = "LEAT_TEST_CONSUMER_GROUP"
)

// consumerProcess is a service that consumes until SIGTERM, and counts attempts.
func consumerProcess() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	pool, err := pgxpool.New(ctx, os.Getenv(envConsumerDatabase))
	if err != nil {
		return err
	}
	defer pool.Close()
	sub, err := kafkasource.NewSubscriber(strings.Split(os.Getenv(envConsumerBrokers), ","), os.Getenv(envConsumerGroup), brisk())
	if err != nil {
		return err
	}
	in, err := pginbox.New(pool, "c", pginbox.Config{Config: inbox.Config{
		BusyDelay: inbox.NoDelay, OnFailure: inbox.Policy{Action: inbox.Park, Attempts: 9, Delay: time.Millisecond},
	}})
	if err != nil {
		return err
	}
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return err
	}
	once, err := middleware.NewInbox(middleware.InboxConfig{Processor: in})
	if err != nil {
		return err
	}
	router.AddMiddleware(once)
	router.AddConsumerHandler("handler", os.Getenv(envConsumerTopic), sub, func(msg *message.Message) error {
		_, err := pginbox.Tx(msg.Context()).Exec(msg.Context(), "INSERT INTO effects VALUES ($1, 'process')", msg.UUID)
		return err
	})
	return router.Run(ctx)
}
