// Package faultnet dials connections that break, for tests: all at once ([Lines]), at
// a COMMIT ([Commits]), or now and then ([Frail]); or that fall silent ([Valve]). Its
// dialers fit pgx, go-redis, franz-go, net/http and amqp091-go. [Dynamo] is a client of HTTP that
// answers as DynamoDB does in trouble. [Splitter] has a standby answer.
package faultnet
