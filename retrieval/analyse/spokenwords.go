package analyse

import "strings"

// spoken lists what is said in each language, folded. An unknown language has
// none of it: its numbers count as words.
var spoken = map[string]speech{
	"es": {
		numbers: set(`cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince
			dieciseis diecisiete dieciocho diecinueve veinte veintiuno veintiun veintiuna veintidos veintitres
			veinticuatro veinticinco veintiseis veintisiete veintiocho veintinueve treinta cuarenta cincuenta
			sesenta setenta ochenta noventa cien ciento doscientos doscientas trescientos trescientas
			cuatrocientos cuatrocientas quinientos quinientas seiscientos seiscientas setecientos setecientas
			ochocientos ochocientas novecientos novecientas mil`),
		links: set(`y con coma punto guion barra doble triple menos`),
		fillers: set(`hola gracias favor perdon disculpe disculpa perdone oiga oye mire mira eh em ehm mm mmm hm ah
			aja uh um vale bueno bien ok okay okey si no claro pues entonces digame diga dime saludos adios
			buenas buenos muchas`),
		pairs: set2(`buenos dias, buen dia, buenas tardes, buenas noches, por favor, de nada, hasta luego`),
	},
	"en": {
		numbers: set(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
			sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
			thousand`),
		links: set(`and oh o point dash hyphen double triple`),
		fillers: set(`hello hi hey please thanks thank sorry pardon excuse eh er erm uh um uhm hm hmm mm mmm ah oh
			huh yes yeah yep no nope ok okay well so sure alright bye goodbye cheers`),
		pairs: set2(`good morning, good afternoon, good evening, good night, good day, you know, thank you, excuse me,
			i mean, all right`),
	},
	"pt": {
		numbers: set(`zero um dois duas tres quatro cinco seis sete oito nove dez onze doze treze catorze quatorze
			quinze dezesseis dezasseis dezessete dezassete dezoito dezenove dezanove vinte trinta quarenta
			cinquenta sessenta setenta oitenta noventa cem cento duzentos duzentas trezentos trezentas
			quatrocentos quatrocentas quinhentos quinhentas seiscentos seiscentas setecentos setecentas
			oitocentos oitocentas novecentos novecentas mil`),
		links: set(`e virgula ponto hifen traco`),
		fillers: set(`ola oi obrigado obrigada favor desculpe desculpa licenca eh hum hm ah bom bem ok sim nao claro
			entao certo alo tchau`),
		pairs: set2(`bom dia, boa tarde, boa noite, por favor, com licenca, ate logo`),
	},
	"fr": {
		numbers: set(`zero un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize
			vingt vingts trente quarante cinquante soixante septante huitante octante nonante cent cents mille`),
		links: set(`et virgule point tiret`),
		fillers: set(`bonjour bonsoir salut merci pardon euh heu hm ah bah ben bon bien ok oui non ouais alors voila
			allo revoir`),
		pairs: set2(`bonne journee, bonne soiree, au revoir, excusez moi, du coup`),
	},
	"de": {
		numbers: set(`null eins zwei zwo drei vier funf sechs sieben acht neun zehn elf zwolf dreizehn vierzehn
			funfzehn sechzehn siebzehn achtzehn neunzehn zwanzig dreissig vierzig funfzig sechzig siebzig
			achtzig neunzig hundert tausend`),
		links: set(`und komma punkt strich`),
		fillers: set(`hallo bitte danke entschuldigung tschuss ah ahm eh hm mhm ja nein doch gut ok okay also genau
			tja servus`),
		pairs: set2(`guten tag, guten morgen, guten abend, gute nacht, vielen dank, grus gott, gruss gott, auf wiederhoren`),
	},
	"it": {
		numbers: set(`zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici
			quindici sedici diciassette diciotto diciannove venti trenta quaranta cinquanta sessanta settanta
			ottanta novanta cento duecento trecento quattrocento cinquecento seicento settecento ottocento
			novecento mille mila`),
		links: set(`e virgola punto trattino`),
		fillers: set(`ciao salve grazie prego scusi scusa eh ehm uh mm ah beh bene ok si no allora certo pronto
			buongiorno buonasera arrivederci favore`),
		pairs: set2(`buon giorno, buona sera, buona giornata, per favore, per piacere`),
	},
}

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// set2 reads pairs of words, parted by commas.
func set2(pairs string) map[string]bool {
	m := make(map[string]bool)
	for pair := range strings.SplitSeq(pairs, ",") {
		m[strings.Join(strings.Fields(pair), " ")] = true
	}
	return m
}
