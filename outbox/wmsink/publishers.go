package wmsink

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// refuseLossy returns an error if pub is a publisher that is known to return nil for
// messages that no broker has, as it is configured. It looks at names of types and fields
// only, so that no broker's client is imported, and at what it does not know it does not
// guess: a publisher that is wrapped, or of another version, passes.
func refuseLossy(pub message.Publisher) error {
	if pub == nil || !isAMQP(reflect.TypeOf(pub)) {
		return nil
	}
	config, ok := field(reflect.ValueOf(pub), "config")
	if !ok {
		return nil
	}
	if on, ok := flag(config, "Publish", "Transactional"); ok && on {
		return outbox.ConfigError("pub", "amqp.Publisher with Publish.Transactional = true",
			"returns nil for a message that was rolled back: switch it off and Publish.ConfirmDelivery on")
	}
	if on, ok := flag(config, "Publish", "ConfirmDelivery"); ok && !on {
		return outbox.ConfigError("pub", "amqp.Publisher with Publish.ConfirmDelivery = false",
			"returns nil before the broker has the message: switch it on, with Publish.ChannelPoolSize = Lanes")
	}
	return nil
}

// isAMQP reports whether t is watermill-amqp's publisher, of any major version.
func isAMQP(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path := t.PkgPath()
	return t.Name() == "Publisher" && strings.Contains(path, "watermill-amqp") && strings.HasSuffix(path, "/amqp")
}

// field returns the struct in the field of v, or of a struct that v embeds, called name.
func field(v reflect.Value, name string) (reflect.Value, bool) {
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return reflect.Value{}, false
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return reflect.Value{}, false
	}
	if _, ok := v.Type().FieldByName(name); !ok {
		return reflect.Value{}, false
	}
	return v.FieldByName(name), true
}

// flag returns the bool at path below v. Fields that are not exported can be read so.
func flag(v reflect.Value, path ...string) (on, ok bool) {
	for _, name := range path {
		if v, ok = field(v, name); !ok {
			return false, false
		}
	}
	if v.Kind() != reflect.Bool {
		return false, false
	}
	return v.Bool(), true
}

// outages are what publishers say, as texts only, if the broker is away or does not
// answer; without them an outage would look like a failure of each record and park it
// (invariant O8).
func outages() []string {
	return []string{
		"not connected to AMQP", "pub/sub is connection closed", "delivery not confirmed for message", // watermill-amqp
		"nats: timeout", "nats: connection closed", "nats: no servers available", "nats: no responders available",
		"nats: no response from stream", "nats: connection disconnected", // watermill-nats
	}
}

// permanents are what publishers say if a message can never be sent.
func permanents() []string {
	return []string{"nats: maximum payload exceeded", "nats: invalid subject"}
}

// saysAny reports whether text contains one of parts.
func saysAny(text string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
}
