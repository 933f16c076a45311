package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// errExited is returned when a server ends before it has answered.
var errExited = errors.New("testenv: the server exited")

// resolveKafka goes through the places where Kafka may come from.
func resolveKafka(ctx context.Context) (Service, error) {
	address := os.Getenv(EnvKafka)
	switch {
	case address == fake:
		return startKfake("asked for in " + EnvKafka)
	case address != "":
		return kafkaAt(ctx, address, "address in "+EnvKafka)
	}
	if s, ok := kafkaRunning(ctx); ok {
		return s, nil
	}
	s, _, err := startKafka(ctx, sharedBroker())
	if errors.Is(err, ErrUnavailable) && !inCI() {
		return startKfake(firstLine(err))
	}

	return s, err
}

// kafkaRunning uses the detached set, else a real broker on the standard port of
// this machine.
func kafkaRunning(ctx context.Context) (Service, bool) {
	if s, ok := detached(ctx, KindKafka); ok {
		if s, err := kafkaAt(ctx, s.Address, "detached set"); err == nil {
			return s, true
		}
	}
	s, err := kafkaAt(ctx, "127.0.0.1:9092", "already running on the standard port")

	return s, err == nil
}

// kafkaAt describes the cluster at an address.
func kafkaAt(ctx context.Context, address, origin string) (Service, error) {
	found, err := inspectKafka(ctx, strings.Split(address, ","))
	if err != nil {
		return Service{}, err
	}
	isReal := found.cluster != fakeClusterID
	if !isReal && inCI() {
		return Service{}, fmt.Errorf("%w: CI needs a real Kafka, %s is kfake", ErrUnavailable, address)
	}

	return Service{Kind: KindKafka, Address: address, Version: found.version, Origin: origin, Real: isReal}, nil
}

// firstLine is the beginning of an error, for a place where there is only a line.
func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")

	return strings.TrimPrefix(line, ErrUnavailable.Error()+": ")
}
