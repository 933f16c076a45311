package otelleat

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"

	"github.com/leat-go/leat/middleware/metrics"
)

// operation is the attribute messaging.operation.name of the metrics that follow
// OpenTelemetry's conventions, "" for all others.
func operation(d metrics.Definition) string {
	switch {
	case strings.HasPrefix(d.OTel, "messaging.client."):
		return "send"
	case strings.HasPrefix(d.OTel, "messaging.process."):
		return "process"
	default:
		return ""
	}
}

// attributes returns the labels of a series, and the further attributes that the conventions
// require: there the topic is the destination.
func (b *backend) attributes(d metrics.Definition, values []string) attribute.Set {
	kv := make([]attribute.KeyValue, 0, len(values)+2)
	convention := operation(d)
	if convention != "" {
		kv = append(kv, attribute.String("messaging.system", b.system), attribute.String("messaging.operation.name", convention))
	}
	for i, v := range values {
		label := d.Labels[i]
		if convention != "" && label == "topic" {
			label = "messaging.destination.name"
		}
		kv = append(kv, attribute.String(label, v))
	}
	return attribute.NewSet(kv...)
}
