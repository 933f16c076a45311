package wmsink

import (
	"reflect"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/leat-go/leat/outbox"
)

// refuseLossy returns an error if pub is a publisher that, in its configuration, is known to
// return nil for messages that no broker has. It only compares names of types and fields, so that
// it need not import any broker's client. It does not guess: a publisher that is wrapped, or of
// another version, passes.
func refuseLossy(pub message.Publisher) error {
	if pub == nil {
		return nil
	}
	config, ok := field(reflect.ValueOf(pub), "config")
	if !ok {
		return nil
	}
	switch t := reflect.TypeOf(pub); {
	case isPublisher(t, "watermill-amqp", "/amqp"):
		return refuseAMQP(config)
	case isPublisher(t, "watermill-nats", "/nats"):
		return refuseNATS(config)
	case isPublisher(t, "watermill-http", "/http"):
		return refuseHTTP(config)
	}
	return nil
}

func refuseAMQP(config reflect.Value) error {
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

func refuseNATS(config reflect.Value) error {
	if on, ok := flag(config, "JetStream", "Disabled"); ok && on {
		return outbox.ConfigError("pub", "nats.Publisher with JetStream.Disabled = true",
			"returns nil before a server has the message: NATS without JetStream acknowledges nothing")
	}
	if on, ok := flag(config, "JetStream", "TrackMsgId"); ok && on {
		return outbox.ConfigError("pub", "nats.Publisher with JetStream.TrackMsgId = true",
			"returns nil for a replay, and for another message of the same id in a stream, which JetStream drops as repeats: switch it off, or use natssink")
	}
	return nil
}

func refuseHTTP(config reflect.Value) error {
	client, ok := field(config, "Client")
	if !ok || client.Kind() != reflect.Pointer || client.IsNil() {
		return nil
	}
	check, ok := field(client, "CheckRedirect")
	if ok && check.Kind() == reflect.Func && check.IsNil() {
		return outbox.ConfigError("pub", "http.Publisher with Client.CheckRedirect = nil",
			"follows a redirect without the body and returns nil: set one that returns an error, other than http.ErrUseLastResponse, with which the redirect itself counts as delivered")
	}
	return nil
}

// isPublisher reports whether t is the publisher of Watermill's module, of any major version.
func isPublisher(t reflect.Type, module, pkg string) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	path := t.PkgPath()
	return t.Name() == "Publisher" && strings.Contains(path, module) && strings.HasSuffix(path, pkg)
}

// field returns the struct in the field of v called name, or in that of a struct that v embeds.
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

// flag returns the bool at path below v. Unexported fields can be read in this way.
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
