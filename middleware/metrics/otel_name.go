package metrics

import "strings"

// otelName returns the name in OpenTelemetry, where the unit and the kind are not part of the
// name: "leat_relay_sent_bytes_total" is "leat.relay.sent", a counter of bytes.
func otelName(d *Definition) string {
	name := strings.TrimSuffix(d.Name, "_total")
	switch d.Unit {
	case "s":
		name = strings.TrimSuffix(name, "_seconds")
	case "By":
		name = strings.TrimSuffix(name, "_bytes")
	}
	return strings.Replace(name, "_", ".", 2)
}
