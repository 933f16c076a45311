package testenv

import (
	"context"
	"os"
)

// resolveRabbit goes through the places where RabbitMQ may come from. Nothing plays it.
func resolveRabbit(ctx context.Context) (Service, error) {
	if address := os.Getenv(EnvRabbit); address != "" {
		return rabbitAt(ctx, address, "address in "+EnvRabbit)
	}
	if s, ok := detached(ctx, KindRabbit); ok {
		if s, err := rabbitAt(ctx, s.Address, "detached set"); err == nil {
			return s, nil
		}
	}
	if s, err := rabbitAt(ctx, "amqp://guest:guest@127.0.0.1:5672/", "already running on the standard port"); err == nil {
		return s, nil
	}
	s, _, err := startRabbit(ctx, "")

	return s, err
}

// rabbitAt describes the broker at an address that lets us in and has its management.
func rabbitAt(ctx context.Context, address, origin string) (Service, error) {
	api, u, err := rabbitAPIOf(address)
	if err != nil {
		return Service{}, err
	}
	host := u.Host
	if u.Port() == "" {
		host += ":5672"
	}
	version, _, err := inspectRabbit(ctx, host)
	if err != nil {
		return Service{}, err
	}
	if err := api.do(ctx, "GET", "/vhosts", ""); err != nil {
		return Service{}, err
	}

	return Service{Kind: KindRabbit, Address: address, Version: version, Origin: origin, Real: true}, nil
}
