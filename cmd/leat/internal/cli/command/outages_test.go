package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A broker that does not answer is one line, which names it and not its topics; topics that are
// missing are one line together, whatever they are called.
func TestOutageLines(t *testing.T) {
	t.Parallel()
	now := time.Now()
	down := func(topic, port string) OutageRow {
		return OutageRow{Topic: topic, Cause: "outage", Since: now.Add(-26 * time.Minute), Waiting: 2, Error: "leat: kafka at [k1:9092] does not answer: read 10.0.0.1:" + port + ": reset"}
	}
	missing := func(topic string) OutageRow {
		return OutageRow{Topic: topic, Cause: "unavailable", Since: now.Add(-time.Minute), Waiting: 1, Error: `leat: topic "` + topic + `" does not exist`}
	}
	lines := OutageLines("default", []OutageRow{down("a", "50123"), down("b", "50777"), missing("crm"), missing("crm-feed"), {Since: now, Error: "7 more topics are out"}})
	require.Len(t, lines, 3)
	require.Equal(t, "leat: kafka at [k1:9092] does not answer: read 10.0.0.1:50123: reset (since 26m00s; 2 topics, 4 records tried again)", lines[0].Text(now))
	require.Equal(t, `2 topics, crm and others are not taken by the destination since 1m00s, 2 records tried again: leat: topic "crm" does not exist`, lines[1].Text(now))
	var long []OutageRow
	for _, end := range []string{"a", "b"} {
		topic := "crm-" + end + strings.Repeat("x", 240)
		long = append(long, OutageRow{Topic: topic, Cause: "unavailable", Since: now, Error: fmt.Sprintf("leat: endpoint %.200q: no such endpoint", topic)})
	}
	require.Len(t, OutageLines("default", long), 1, "a sink quotes the beginning of a long topic")
	require.Equal(t, "others", lines[2].what())
	require.Equal(t, "7 more topics are out since 0ms", lines[2].Text(now))
	require.False(t, lines[1].StopsAll())
	for _, err := range []string{
		"leat: rabbitmq at [r1:5672 r2:5672] does not answer: EOF", "leat: redis at [[::1]:6379] refuses: WRONGPASS", "leat: nats at [n1:4222] does not answer: nats: timeout",
		`endpoint "a": the server at [https://api.example.com] does not answer: EOF`, "leat: rabbitmq at [r1:5672] has blocked its publishers: low on memory",
	} {
		line := OutageLines("default", []OutageRow{{Topic: "a", Cause: "outage", Since: now, Waiting: 1, Error: err}})[0]
		require.Equal(t, err+" (since 0ms; 1 topic, 1 record tried again)", line.Text(now), "not the topic is out")
		require.Equal(t, !strings.Contains(err, "endpoint"), line.StopsAll(), err)
		line.Wait = 0
		require.Equal(t, err+" (since 0ms; 1 topic)", line.Text(now))
		line.Unsent = 3
		require.Equal(t, err+" (since 0ms; 1 topic, 3 messages not sent)", line.Text(now))
	}
}
