package room

import (
	"maps"

	lksdk "github.com/livekit/server-sdk-go/v2"

	"github.com/livekit/protocol/livekit"
)

// Caller is what the room knows of the person on the line.
type Caller struct {
	Identity   string
	Name       string
	Kind       string // "STANDARD", "SIP" or "CONNECTOR", LiveKit's names
	Attributes map[string]string
	Metadata   string
	// CanUpdateMetadata says that the participant may write their own metadata
	// and attributes, so that neither proves anything. True when unknown.
	CanUpdateMetadata bool
	SIP               SIP // zero unless Kind is "SIP"
}

// SIP is what the telephone network says of a call.
type SIP struct {
	CallID     string
	Phone      string // the other side's number, empty when it is hidden
	TrunkPhone string // ours
	Status     string // "dialing", "ringing", "automation", "active" or "hangup"
	Outbound   bool   // we called: no dispatch rule let it in
}

// The attributes that LiveKit's SIP service sets.
const (
	attrCallID     = "sip.callID"
	attrPhone      = "sip.phoneNumber"
	attrTrunkPhone = "sip.trunkPhoneNumber"
	attrStatus     = "sip.callStatus"
	attrRule       = "sip.ruleID"
)

// attrOnBehalf marks an avatar that speaks for an agent.
const attrOnBehalf = "lk.publish_on_behalf"

func callerOf(p *lksdk.RemoteParticipant) Caller {
	c := Caller{
		Identity: p.Identity(), Name: p.Name(), Kind: livekit.ParticipantInfo_Kind(p.Kind()).String(),
		Attributes: maps.Clone(p.Attributes()), Metadata: p.Metadata(), CanUpdateMetadata: true,
	}
	if permissions := p.Permissions(); permissions != nil {
		c.CanUpdateMetadata = permissions.GetCanUpdateMetadata()
	}
	if c.Kind == livekit.ParticipantInfo_SIP.String() {
		c.SIP = sipOf(c.Attributes)
	}
	return c
}

func sipOf(attributes map[string]string) SIP {
	return SIP{
		CallID: attributes[attrCallID], Phone: attributes[attrPhone], TrunkPhone: attributes[attrTrunkPhone],
		Status: attributes[attrStatus], Outbound: attributes[attrRule] == "",
	}
}

// person tells whether a participant can be a caller: not an agent, a
// recorder, a file that is played in, or an avatar.
func (c Caller) person() bool {
	switch c.Kind {
	case livekit.ParticipantInfo_STANDARD.String(), livekit.ParticipantInfo_SIP.String(), livekit.ParticipantInfo_CONNECTOR.String():
		return c.Attributes[attrOnBehalf] == ""
	}
	return false
}
