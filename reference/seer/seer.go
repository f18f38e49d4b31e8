// Package seer is what the Seer operations do beyond their traits: tools over a synthetic market,
// forecasts and proposals computed from it, pinned agent configuration, and the action lifecycle
// with its venue. The core judges requests and keeps state; nothing here knows a transport.
package seer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"assay.kit/reference/core"
	"assay.kit/reference/core/access"
	"assay.kit/reference/seer/market"
	"assay.kit/spec"
)

// Names of what principals hold. Grants cover tools by the first part of their domain name.
const (
	grantMarket    = "grant_market_read"
	grantForecast  = "grant_forecast"
	grantPortfolio = "grant_portfolio"
	source         = "source_market_example" // of every price
	budget         = "budget_default"
)

// Resource types, as the contract's traits name them.
const (
	kindTool          = "tool"
	kindInvocation    = "invocation"
	kindRevision      = "agent_revision"
	kindAccount       = "account"
	kindAction        = "action"
	kindAuthorization = "authorization"
	kindSubmission    = "submission"
)

// Holdings are the grants, data sources and budget that a full credential holds.
func Holdings() access.Holdings {
	return access.Holdings{Grants: []string{grantMarket, grantForecast, grantPortfolio}, Entitlements: []string{source}, Budget: budget}
}

// Seer carries out the operations of one contract. It is safe for concurrent use.
type Seer struct {
	contract *spec.Contract
	market   *market.Market
	baseURL  string
	grants   map[string]string // by the first part of a tool's domain name
}

// New builds it. baseURL is where the server is reached; connections learn from it where the other
// transport is. "" is http://localhost.
func New(c *spec.Contract, baseURL string) (*Seer, error) {
	if baseURL == "" {
		baseURL = "http://localhost"
	}
	m, err := market.New()
	if err != nil {
		return nil, fmt.Errorf("seer: %w", err)
	}
	return &Seer{
		contract: c, market: m, baseURL: strings.TrimSuffix(baseURL, "/"),
		grants: map[string]string{"market": grantMarket, "forecast": grantForecast, "portfolio": grantPortfolio},
	}, nil
}

// Behaviours are by operation; operations that are not here need none.
func (s *Seer) Behaviours() map[string]core.Behaviour {
	return map[string]core.Behaviour{
		"getConnection":           {Read: s.connection},
		"getTool":                 {Read: s.tool},
		"createAgentRevision":     {Prepare: s.prepareRevision, Apply: s.createRevision},
		"invokeTool":              {Prepare: s.prepareInvocation, Apply: s.invoke, Work: s.work},
		"createForecast":          {Prepare: s.prepareJob("forecast.create"), Apply: s.admit, Work: s.work},
		"createPortfolioProposal": {Prepare: s.prepareJob("portfolio.propose"), Apply: s.admit, Work: s.work},
		"createAction":            {Prepare: s.prepareAction},
		"authorizeAction":         {Apply: s.authorize},
		"revokeAuthorization":     {Apply: s.revoke},
		"submitAction":            {Apply: s.submit},
	}
}

// encode writes JSON without HTML escapes.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("seer: encode: %w", err)
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// answer is a representation with a status.
func answer(sys core.System, status int, v any) (core.Answer, *core.Problem) {
	body, err := encode(v)
	if err != nil {
		return core.Answer{}, failed(sys)
	}
	return core.Answer{Status: status, Body: body}, nil
}

// failed is the refusal for a fault of ours: it says nothing of it.
func failed(sys core.System) *core.Problem {
	return sys.Refuse(core.Internal, "The server failed; the request id identifies this answer.")
}

// invalid is a refusal that names one member.
func invalid(sys core.System, pointer, keyword, message string) *core.Problem {
	p := sys.Refuse(core.InvalidRequest, "The payload breaks a rule in one place.")
	p.Violations = []core.Violation{{Pointer: pointer, Keyword: keyword, Message: message}}
	return p
}

// unknown is the refusal for what does not exist, in the words of the core for what may not be seen.
func unknown(sys core.System) *core.Problem {
	return sys.Refuse(core.NotFound, "There is no such resource that this connection may read.")
}

// forbidden is a refusal that names what is missing.
func forbidden(sys core.System, required, detail string) *core.Problem {
	p := sys.Refuse(core.Forbidden, detail)
	p.Required = required
	return p
}
