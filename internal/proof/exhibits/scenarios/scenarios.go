// Package scenarios lists the exhibits.
package scenarios

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/deduplicator"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/kafkadefaults"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/queueschema"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/serializable"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/skiplocked"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/xidorder"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios/xminhorizon"
)

// All returns the exhibits in the order of the README.
func All() []exhibit.Exhibit {
	return []exhibit.Exhibit{
		deduplicator.Exhibit(), queueschema.Exhibit(), xidorder.Exhibit(),
		xminhorizon.Exhibit(), serializable.Exhibit(), skiplocked.Exhibit(), kafkadefaults.Exhibit(),
	}
}
