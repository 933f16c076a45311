package testbed

import (
	"context"
	"errors"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"
)

// Service is a Watermill router with one handler, as a process would run it.
type Service struct {
	router *message.Router
	ended  chan error
}

// StartService runs a router whose handler reads topic from sub, behind the
// middlewares, the outermost first. The caller must Stop it.
func StartService(
	ctx context.Context, topic string, sub message.Subscriber,
	handle message.NoPublishHandlerFunc, middlewares ...message.HandlerMiddleware,
) (*Service, error) {
	router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
	if err != nil {
		return nil, err
	}
	router.AddMiddleware(middlewares...)
	router.AddConsumerHandler("exhibit", topic, sub, handle)
	s := &Service{router: router, ended: make(chan error, 1)}
	go func() { s.ended <- router.Run(ctx) }()
	select {
	case <-router.Running():
		return s, nil
	case err := <-s.ended:
		return nil, errors.Join(errors.New("the router did not start"), err)
	}
}

// Stop closes the router gracefully and waits until it has ended.
func (s *Service) Stop() error {
	return errors.Join(s.router.Close(), <-s.ended)
}
