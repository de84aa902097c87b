package memory

// Contact is who is on the line, as far as the platform knows.
type Contact struct {
	// ID is the platform's own id of the contact, stable across calls: the id
	// that the app named, else the number in E.164. Ids match exactly.
	ID         string `json:"id,omitempty"`
	Phone      string `json:"phone,omitempty"` // E.164
	Name       string `json:"name,omitempty"`
	ExternalID string `json:"external_id,omitempty"` // the app's own id, when it named one
}
