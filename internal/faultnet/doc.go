// Package faultnet dials connections that break, for tests: all at once ([Lines]), at a COMMIT
// ([Commits]), or now and then ([Frail]); or that fall silent ([Valve]). Its dialers fit pgx,
// go-redis, franz-go, net/http and amqp091-go. [Dynamo] is an HTTP client that answers as DynamoDB
// does in trouble. [Splitter] routes statements to a standby.
package faultnet
