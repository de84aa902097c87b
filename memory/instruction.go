package memory

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"headstart/retrieval/analyse"
)

// instructions are phrases, folded, that tell an agent what to do in place of what
// a person is or likes. They are the second line of defence: the first is that facts
// only ever travel as data in a tool result. So they are few and sharp, and a person
// who "never eats pork" or "always comes on Mondays" passes.
var instructions = compile(
	// Whatever the language: roles, markup and templates.
	`^\s*(system|assistant|user|developer|tool|sistema|asistente|agente|assistente|systeme|agent)\s*:`,
	`</?[a-z][^>]*>`, "```", `<\|`, `\[/?(inst|system)\]`, `#{2,}\s*\w`, `\{\{|\}\}`, `"(role|content)"\s*:`,
	`\b(system|developer)[ -](prompt|message|mode)\b`, `\bjailbreak`, `\bprompt injection`,

	// English.
	`\bfrom now on\b`, `\bgoing forward\b`, `\bfrom this (call|point|moment) on\b`, `\b(in|on) (all )?(future|subsequent|later|the next) (calls?|conversations?)\b`,
	`\b(ignore|disregard|override|bypass|forget)\b.{0,30}\b(instructions?|rules?|polic(y|ies)|prompts?|guidelines?|previous|prior|above|safety)\b`,
	`\b(always|never|do not|don'?t|please|must|just)\s+(\w+ly\s+)?(ask|skip|confirm|verify|check|call|transfer|tell|say|give|offer|approve|refund|grant|apply|send|reveal|follow|obey|respond|answer|reply|treat|mention|waive|authori[sz]e|book|cancel|hang up|repeat|trust|charge|assume|accept)\b`,
	`\bskip(ping)?\b.{0,20}\b(confirmation|verification|check|checks|security|question|questions|step|steps|identification)\b`,
	`\bwithout\s+(asking|confirming|confirmation|verifying|verification|checking|authenticat\w+)\b`,
	`\b(the |this |our |any )?(agent|assistant|bot|ai|model|system|operator)s?\s+(must|should|shall|has to|have to|needs? to|ought to|is to|are to|can|may|will)\b`,
	`\byou\s+(must|should|shall|have to|need to|ought to|are (now|to)|will|may|can)\b`, `\b(act|behave|respond|answer) as\b`, `\bpretend\b`, `\byour (instructions|rules|prompt|task|job|system)\b`,

	// Spanish.
	`\ba partir de (ahora|este momento|hoy|la proxima)\b`, `\b(de|desde) (ahora|hoy) en adelante\b`, `\ben (las |todas las )?(proximas|futuras|siguientes) (llamadas|conversaciones)\b`,
	`\b(ignor|olvid|omit|salt|desobede)(a|ad|ar|e|en|es|ate|ese|arse|arte|emos)?\b.{0,30}\b(instruccion(es)?|reglas?|normas?|confirmacion|verificacion|comprobacion|seguridad|anterior(es)?|previas?|politicas?|pasos?)\b`,
	`\b(siempre|nunca|jamas|no|por favor)\s+(le |la |lo |les |me |se )?(confirmes?|confirmar|pidas?|pedir|preguntes?|preguntar|verifiques?|verificar|compruebes?|comprobar|transfieras?|transferir|digas?|decir|des|dar(le)?|ofrezcas?|ofrecer|apruebes?|aprobar|envies?|enviar|reveles?|revelar|respondas?|responder|contestes?|contestar|canceles?|cancelar|reserves?|reservar|cuelgues?|repitas?|cobres?|cobrar|exijas?|exigir|obedezcas?|sigas?|aceptes?|aceptar)\b`,
	`\bsin\s+(pedir|preguntar|confirmar|confirmacion|verificar|verificacion|comprobar|autentica\w+)\b`,
	`\b(el|la|este|tu) (agente|asistente|bot|modelo|sistema|operador|operadora|ia)\s+(debe|debera|deberia|tiene que|tendra que|ha de|puede|podra)\b`,
	`\b(debes|deberas|deberias|tienes que|tendras que|has de|puedes|podras)\b`, `\b(actua|comportate|responde|contesta) como\b`, `\btus (instrucciones|reglas|ordenes)\b`, `\bhaz(le|lo|me)?\s+(un|una|el|la|lo|siempre|caso)\b`,

	// Portuguese.
	`\ba partir de (agora|hoje|entao)\b`, `\b(daqui|de agora) (para a frente|em diante|por diante)\b`, `\bnas (proximas|futuras) (chamadas|ligacoes|conversas)\b`,
	`\b(ignor|esque[cç]|pul|salt|omit)(a|e|ar|er|ir|em|es)?\b.{0,30}\b(instruc(ao|oes)|regras?|confirmacao|verificacao|anterior(es)?|seguranca|passos?)\b`,
	`\b(sempre|nunca|nao|por favor)\s+(confirmes?|confirme|confirmar|pecas?|pedir|perguntes?|pergunte|perguntar|verifiques?|verifique|verificar|digas?|diga|dizer|des|aproves?|aprove|envies?|envie|reveles?|revele|respondas?|responda|canceles?|cancele|transfiras?|transfira|cobres?|cobre|aceites?|aceite)\b`,
	`\bsem\s+(pedir|perguntar|confirmar|confirmacao|verificar|verificacao)\b`,
	`\b(o|a|este) (agente|assistente|bot|modelo|sistema|atendente)\s+(deve|devera|tem de|tem que|precisa|pode|podera)\b`,
	`\b(deves|deveras|tens de|tens que|voce (deve|tem que|tem de|precisa|pode))\b`, `\b(aja|age|responda|responde) como\b`,

	// French.
	`\b(a partir de|des) (maintenant|aujourd'?hui|cet appel)\b`, `\bdorenavant\b`, `\blors des prochains appels\b`,
	`\b(ignor|oubli|saut|omett?|contourn)(e|ez|er|re|ons)?\b.{0,30}\b(instructions?|regles?|consignes?|confirmation|verification|precedent(e|es|s)?|securite|etapes?)\b`,
	`\b(ne|n')\s*(\w+\s+)?(demand|verifi|confirm|transfer|appel|rappel|repond|donn|annul|envo|revel)(e|es|ez|er|s)\b.{0,10}\b(pas|jamais|plus)\b`,
	`\btoujours\s+(demander|verifier|confirmer|transferer|repondre|donner|accepter|rembourser|dire|offrir|proposer)\b`, `\b(demandez|verifiez|confirmez|transferez|repondez|donnez|acceptez|remboursez|proposez|dites|revelez)\b`,
	`\bsans\s+(demander|confirmer|confirmation|verifier|verification)\b`,
	`\b(l'|le |cet? |la )(agent|assistant|bot|modele|systeme|operateur|ia)\s+(doit|devra|devrait|peut|pourra)\b`, `\b(tu dois|vous devez|tu devras|vous devrez|vous pouvez|tu peux)\b`, `\b(agis|agissez|comporte-toi) comme\b`,

	// German.
	`\b(ab|von) (jetzt|sofort|nun|heute) an\b`, `\bab (jetzt|sofort)\b`, `\bin (allen )?zukunftigen (anrufen|gesprachen)\b`,
	`\b(ignorier|vergiss|vergesst|uberspring|umgeh|missacht)\w*\b.{0,30}\b(anweisung(en)?|regeln?|vorgaben?|bestatigung|prufung|uberprufung|verifizierung|sicherheit\w*|vorherig\w*|schritte?)\b`,
	`\b(immer|nie|niemals|bitte|nicht)\s+(nach .{1,25} )?(fragen|nachfragen|bestatigen|prufen|verifizieren|verbinden|sagen|geben|anbieten|genehmigen|erstatten|senden|antworten|stornieren|buchen|akzeptieren)\b`,
	`\bohne\s+(zu fragen|nachfrage|ruckfrage|bestatigung|prufung|verifizierung|zu bestatigen|zu prufen)\b`,
	`\b(der|die|das|dieser) (agent|assistent|assistentin|bot|modell|system|ki)\s+(muss|soll|sollte|darf|kann|wird)\b`, `\b(du musst|du sollst|du darfst|sie mussen|sie sollen|sie durfen)\b`, `\b(verhalte dich|antworte|handle) (wie|als)\b`,

	// Italian.
	`\bd'?ora in (poi|avanti)\b`, `\bda (ora|adesso|oggi) in (poi|avanti)\b`, `\bnelle prossime (chiamate|telefonate|conversazioni)\b`,
	`\b(ignora|ignori|ignorare|dimentica|dimentichi|salta|salti|saltare|ometti|aggira)\b.{0,30}\b(istruzion[ei]|regol[ae]|conferma|verifica|precedent[ei]|sicurezza|passagg\w+)\b`,
	`\b(sempre|mai|non|per favore)\s+(chiedere|chieda|chiedergli|confermare|confermi|verificare|verifichi|trasferire|dire|dare|approvare|rimborsare|inviare|rivelare|rispondere|annullare|accettare)\b`,
	`\bsenza\s+(chiedere|confermare|conferma|verificare|verifica)\b`,
	`\b(l'|il |lo |la |questo )(agente|assistente|bot|modello|sistema|operatore|ia)\s+(deve|dovra|dovrebbe|puo|potra)\b`, `\b(devi|dovrai|deve lei|lei deve|puoi)\b`, `\b(agisci|comportati|rispondi) come\b`,
)

// Instruction tells whether a text reads like an instruction to an agent, and which
// of its words do. It reads all six languages at once: a planted sentence need not
// be in the call's.
func Instruction(text string) (words string, found bool) {
	folded := analyse.Fold(squeeze(norm.NFKC.String(text))) // wide and invisible letters hide nothing
	for _, one := range instructions {
		if words := one.FindString(folded); words != "" {
			return strings.TrimSpace(words), true
		}
	}
	return "", false
}

func compile(patterns ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		all[i] = regexp.MustCompile(p)
	}
	return all
}

// namesTool returns the first tool whose name stands in a text, as it is spelt in
// code or with its parts as words.
func namesTool(text string, tools []string) (string, bool) {
	said := " " + strings.Join(identifiers(norm.NFKC.String(text)), " ") + " "
	for _, tool := range tools {
		name := strings.Join(identifiers(tool), " ")
		glued := strings.ReplaceAll(name, " ", "")
		if name != "" && (strings.Contains(said, " "+name+" ") || strings.Contains(said, " "+glued+" ")) {
			return tool, true
		}
	}
	return "", false
}

// identifiers are the words of a text, and those of a name in code: cancel_booking
// and cancelBooking are cancel booking.
func identifiers(text string) []string {
	var b strings.Builder
	last := ' '
	for _, r := range text {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
		last = r
	}
	return slices.DeleteFunc(wordsOf(b.String()), func(w string) bool { return w == "" })
}
