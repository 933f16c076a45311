// Package catalogue lists all models.
package catalogue

import (
	"slices"

	"github.com/leat-go/leat/internal/proof/model"
	"github.com/leat-go/leat/internal/proof/model/exactly"
	"github.com/leat-go/leat/internal/proof/model/gaps"
	"github.com/leat-go/leat/internal/proof/model/relays"
	"github.com/leat-go/leat/internal/proof/model/slots"
	"github.com/leat-go/leat/internal/proof/model/watermarks"
	"github.com/leat-go/leat/internal/proof/model/windows"
)

// Cases returns all protocols and their forbidden variants, model after model.
func Cases() []model.Case {
	return slices.Concat(
		relays.Cases(), windows.Cases(), gaps.Cases(), slots.Cases(), exactly.Cases(),
		watermarks.Cases(),
	)
}
