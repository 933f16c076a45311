package mutants

import (
	"slices"
	"strconv"
)

// Areas returns all mutants, part by part.
func Areas() []Area {
	return []Area{
		{"The enqueuer", enqueueMutants()},
		{"What a position rests on", basisMutants()},
		{"The window cursor", slices.Concat(pageMutants(), probeMutants())},
		{"Leases and fences", slices.Concat(fenceMutants(), takeoverMutants(), leaseMutants())},
		{"Groups and slots", slotMutants()},
		{"Change logs", slices.Concat(tailMutants(), debeziumMutants())},
		{"The relay", slices.Concat(settleMutants(), orderMutants(), failureMutants(), termMutants())},
		{"What an operator sees and does", slices.Concat(adminMutants(), pauseMutants(), eraseMutants())},
		{"Records that are set aside", slices.Concat(heldMutants(), heldqueueMutants(), stopMutants())},
		{"Retention, delays and replay", slices.Concat(retentionMutants(), delayMutants())},
		{"Sinks", slices.Concat(sinkMutants(), publishMutants(), brokerMutants(), natsMutants())},
		{"Webhooks", httpMutants()},
		{"A service by one value", serviceMutants()},
		{"The outbox on database/sql", slices.Concat(sqlWriteMutants(), sqlReadMutants())},
		{"Exactly once into Kafka", exactMutants()},
		{"Tables of a service's own", adoptMutants()},
		{"Watermill's forwarder", slices.Concat(forwardMutants(), sqlForwardMutants())},
		{"The inbox", slices.Concat(deliveryMutants(), messageMutants(), attemptMutants())},
		{"The inbox on PostgreSQL", slices.Concat(claimMutants(), unitMutants(), rangeMutants())},
		{"The inbox on database/sql", sqlInboxMutants()},
		{"DynamoDB", slices.Concat(dynamoOutboxMutants(), dynamoInboxMutants(), dynamoDedupeMutants())},
		{"The watermark", watermarkMutants()},
		{"Batches", batchMutants()},
		{"Caches in front of the inbox", cacheMutants()},
		{"The Kafka subscriber", subscriberMutants()},
		{"Payloads", contentMutants()},
		{"Effects outside SQL", slices.Concat(dedupeMutants(), tokenMutants(), recordMutants(), sqlDedupeMutants())},
		{"Schemas and a registry", registryMutants()},
		{"What an operator is told", loggerMutants()},
		{"Viewers, strangers and secrets", strangerMutants()},
		{"What a message costs", costMutants()},
	}
}

// All returns the mutants of all areas.
func All() []Mutant {
	var all []Mutant
	for _, a := range Areas() {
		all = append(all, a.Mutants...)
	}
	return all
}

// Promises returns the numbers of all promises. Each must be broken by a mutant.
func Promises() []string {
	var all []string
	for _, kind := range []struct {
		letter string
		most   int
	}{{"O", 15}, {"I", 13}, {"D", 8}} {
		for n := range kind.most {
			all = append(all, kind.letter+strconv.Itoa(n+1))
		}
	}
	return all
}

// Unbroken returns those promises that no mutant of list breaks.
func Unbroken(list []Mutant) []string {
	return slices.DeleteFunc(Promises(), func(promise string) bool {
		return slices.ContainsFunc(list, func(m Mutant) bool { return slices.Contains(m.Breaks, promise) })
	})
}
