package handbook_test

import (
	"os"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/leat-go/leat/internal/handbook"
)

// questions are those that people ask, with the places in docs/ that answer them.
var questions = map[string]string{
	"How do I use it with gorm?":                       "adopting.md#producers",
	"Kafka is down for a day. What happens?":           "faq.md#kafka-is-down-for-a-day-what-happens",
	"How big does the table get?":                      "production.md#disk",
	"Does it work behind PgBouncer?":                   "security.md#poolers",
	"How do I run it on Kubernetes?":                   "daemon.md#systemd-kubernetes-containers",
	"How do I delete a person's data?":                 "erase.md",
	"How do I test a handler?":                         "testing.md#a-handler",
	"How do I upgrade?":                                "versions.md#how-to-upgrade",
	"How do I test what a transaction publishes?":      "testing.md#a-producer",
	"Two teams share one database. One outbox or two?": "faq.md#two-teams-share-one-database-one-outbox-or-two",
	"Several services use one database?":               "faq.md#several-services-use-one-database-can-each-have-its-own",
	"How do I monitor it?":                             "metrics.md#start",
	"How do I come from watermill-sql?":                "adopting.md#producers",
	"How do I come from my own table?":                 "adopt-table.md",
	"What is a slot?":                                  "faq.md#what-is-a-slot",
	"Is this exactly once?":                            "faq.md#is-this-exactly-once",
	"Can I use it without Watermill?":                  "faq.md#can-i-use-it-without-watermill",
	"We migrate with golang-migrate or Atlas?":         "faq.md#we-migrate-with-goose-tern-golang-migrate-or-atlas",
	"How do I write Avro?":                             "registry.md",
	"How do I write CloudEvents?":                      "content.md#cloudevents",
	"Does it run on RDS, Aurora, Cloud SQL?":           "faq.md#does-it-run-on-rds-aurora-cloud-sql",
	"How fast is it?":                                  "benchmarks.md",
	"How fast does a message arrive?":                  "faq.md#how-fast-does-a-message-arrive",
	"What about read replicas and splitters?":          "faq.md#and-behind-read-replicas-and-readwrite-splitters",
	"We outgrow one database?":                         "faq.md#we-outgrow-one-database-and-then",
	"leat or a workflow engine?":                       "comparison.md#leat-or-a-workflow-engine",
	"leat or a job queue?":                             "comparison.md#leat-or-a-job-queue",
}

// TestQuestions: each is answered two clicks from the start of the documentation.
func TestQuestions(t *testing.T) {
	t.Parallel()
	tree := os.DirFS("../..")
	for question, answer := range questions {
		clicks, err := handbook.Clicks(tree, "docs/"+answer)
		require.NoError(t, err, question)
		require.LessOrEqual(t, clicks, 2, question)
		t.Logf("%d %s %s", clicks, question, answer)
	}
}

// TestClicks counts the clicks in a small documentation.
func TestClicks(t *testing.T) {
	t.Parallel()
	tree := fstest.MapFS{
		"README.md":      {Data: []byte("# Us\n")},
		"docs/README.md": {Data: []byte("# Start\n\n[a](a.md), [deep](sub/d.md#two)\n")},
		"docs/a.md":      {Data: []byte("# A\n\n[b](b.md)\n\n## One\n")},
		"docs/b.md":      {Data: []byte("# B\n\n## One\n")},
		"docs/sub/d.md":  {Data: []byte("# D\n\n## One\n\n## Two\n")},
		"docs/lost.md":   {Data: []byte("# Lost\n")},
	}
	for answer, want := range map[string]int{
		"docs/a.md": 1, "docs/a.md#one": 2, "docs/b.md": 2, "docs/b.md#one": 3, "docs/sub/d.md": 1, "docs/sub/d.md#two": 1, "docs/sub/d.md#one": 2,
	} {
		clicks, err := handbook.Clicks(tree, answer)
		require.NoError(t, err, answer)
		require.Equal(t, want, clicks, answer)
	}
	_, err := handbook.Clicks(tree, "docs/lost.md")
	require.ErrorContains(t, err, "no link leads to docs/lost.md")
	_, err = handbook.Clicks(tree, "docs/a.md#two")
	require.ErrorContains(t, err, "docs/a.md has no heading #two")
}

// mostWords is how many words the pages for users may have. Names in backticks and numbers count, code blocks do not.
const mostWords = 40_000

// TestShelves: what users have to read does not grow.
func TestShelves(t *testing.T) {
	t.Parallel()
	shelves, err := handbook.ReadShelves(os.DirFS("../.."))
	require.NoError(t, err)
	users, maintainers := handbook.Sum(shelves.Users), handbook.Sum(shelves.Maintainers)
	t.Logf("%d words on %d pages for users, %d on %d for maintainers", users, len(shelves.Users), maintainers, len(shelves.Maintainers))
	require.LessOrEqual(t, users, mostWords)
	require.Greater(t, maintainers, 10_000)
}

// TestShelves_Counts words, and neither code nor targets nor bars.
func TestShelves_Counts(t *testing.T) {
	t.Parallel()
	shelves, err := handbook.ReadShelves(fstest.MapFS{
		"README.md":           {Data: []byte("# One two\n\n```\nnot this\n```\n")},
		"docs/a.md":           {Data: []byte("| three | [four](x.md) – |\n|---|---|\n")},
		"docs/internals/b.md": {Data: []byte("five\n")},
		"docs/maintaining.md": {Data: []byte("six, seven\n")},
	})
	require.NoError(t, err)
	require.Equal(t, map[string]int{"README.md": 2, "docs/a.md": 2}, shelves.Users)
	require.Equal(t, map[string]int{"docs/internals/b.md": 1, "docs/maintaining.md": 2}, shelves.Maintainers)
}

// TestLinksAndAnchors: links and headings are found as they are written.
func TestLinksAndAnchors(t *testing.T) {
	t.Parallel()
	const text = "# A `b`: c's d\n\nsee [x](y.md#z), [w](https://w.example)\n\n```sh\n# no heading\n[no](link)\n```\n## Twice\n## Twice\n"
	require.Equal(t, []string{"y.md#z"}, handbook.Links(text))
	require.Equal(t, map[string]bool{"a-b-cs-d": true, "twice": true, "twice-1": true}, handbook.Anchors(text))
}
