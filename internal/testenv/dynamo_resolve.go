package testenv

import (
	"context"
	"os"
)

// resolveDynamo goes through the places where DynamoDB Local may come from. Nothing plays it.
func resolveDynamo(ctx context.Context) (Service, error) {
	if url := os.Getenv(EnvDynamo); url != "" {
		return dynamoAt(ctx, url, "address in "+EnvDynamo)
	}
	if s, ok := detached(ctx, KindDynamo); ok {
		if s, err := dynamoAt(ctx, s.Address, "detached set"); err == nil {
			return s, nil
		}
	}
	if s, err := dynamoAt(ctx, "http://127.0.0.1:8000", "already running on the standard port"); err == nil {
		return s, nil
	}

	return startDynamo(ctx)
}

// dynamoAt describes the DynamoDB Local at an endpoint.
func dynamoAt(ctx context.Context, url, origin string) (Service, error) {
	if _, err := dynamoTables(ctx, url, ""); err != nil {
		return Service{}, err
	}

	return Service{Kind: KindDynamo, Address: url, Version: "Local", Origin: origin, Real: true}, nil
}
