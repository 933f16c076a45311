package testenv

import (
	"context"
	_ "embed"
)

// kafkaVersion is the broker that is fetched; kafka_pom.xml and compose.yaml say
// the same.
const kafkaVersion = "4.1.1"

//go:embed kafka_pom.xml
var kafkaPOM []byte

//go:embed sums/kafka.sha256
var kafkaSums []byte

// findKafka returns what a broker of our own is started from.
func findKafka(ctx context.Context) (javaBinaries, error) {
	return findJars(ctx, "kafka-"+kafkaVersion, kafkaPOM, kafkaSums)
}
