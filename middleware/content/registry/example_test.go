package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing/fstest"
	"time"

	"github.com/twmb/franz-go/pkg/sr"
	"github.com/twmb/franz-go/pkg/sr/srfake"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/leat-go/leat/middleware/content/registry"
)

// newRegistry connects to a registry, which is one in memory here.
func newRegistry() (*registry.Registry, func(), error) {
	server := srfake.New()
	client, err := sr.NewClient(sr.URLs(server.URL()))
	if err != nil {
		return nil, nil, err
	}
	r, err := registry.New(registry.Config{Client: client, Register: true})
	return r, server.Close, err
}

func ExampleAvro() {
	r, stop, err := newRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	type OrderPlaced struct {
		ID    string `avro:"id"`
		Total int64  `avro:"total"`
	}
	codec, err := registry.Avro[OrderPlaced](r, `{
		"type": "record", "name": "shop.OrderPlaced",
		"fields": [{"name": "id", "type": "string"}, {"name": "total", "type": "long"}]
	}`, registry.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	payload, err := codec.Encode(OrderPlaced{ID: "a", Total: 7})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", payload)
	var event OrderPlaced
	err = codec.Decode(payload, &event)
	fmt.Println(event, err)
	// Output:
	// "\x00\x00\x00\x00\x01\x02a\x0e"
	// {a 7} <nil>
}

// A service embeds the files from which its messages were generated:
//
//	//go:embed shop/*.proto
//	var files embed.FS
func ExampleProto() {
	r, stop, err := newRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	files := fstest.MapFS{"google/protobuf/duration.proto": {Data: []byte(`
		syntax = "proto3";
		package google.protobuf;
		message Duration { int64 seconds = 1; int32 nanos = 2; }`)}}
	codec, err := registry.Proto(r, &durationpb.Duration{}, files, registry.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	payload, err := codec.Encode(durationpb.New(time.Minute))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", payload)
	var event durationpb.Duration
	err = codec.Decode(payload, &event)
	fmt.Println(event.AsDuration(), err)
	// Output:
	// "\x00\x00\x00\x00\x01\x00\b<"
	// 1m0s <nil>
}

func ExampleJSON() {
	r, stop, err := newRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	// Such as compiled.Validate of github.com/santhosh-tekuri/jsonschema.
	validate := func(text []byte) error {
		var event map[string]any
		if err := json.Unmarshal(text, &event); err != nil {
			return err
		}
		if event["id"] == "" {
			return errors.New("id: too short")
		}
		return nil
	}
	codec, err := registry.JSON(r, `{
		"title": "shop.OrderPlaced", "type": "object",
		"properties": {"id": {"type": "string", "minLength": 1}}
	}`, validate, registry.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	type OrderPlaced struct {
		ID string `json:"id"`
	}
	payload, err := codec.Encode(OrderPlaced{ID: "a"})
	fmt.Printf("%q %v\n", payload, err)
	_, err = codec.Encode(OrderPlaced{})
	fmt.Println(err)
	// Output:
	// "\x00\x00\x00\x00\x01{\"id\":\"a\"}" <nil>
	// leat: registry: subject shop.OrderPlaced: id: too short
}

// At the start of a service, and in the test of a team's CI.
func ExampleRegistry_Ready() {
	r, stop, err := newRegistry()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()
	type OrderPlaced struct {
		ID string `avro:"id"`
	}
	if _, err := registry.Avro[OrderPlaced](r, `{"type": "record", "name": "shop.OrderPlaced", "fields": [{"name": "id", "type": "string"}]}`, registry.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	fmt.Println(r.Check(ctx), r.Ready(ctx))
	// Output: <nil> <nil>
}
