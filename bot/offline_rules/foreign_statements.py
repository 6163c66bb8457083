"""Plain statements in languages other than English: what they state, in their own language.

Invariant: predicates are those of the English rules, so that the same thing told in two languages fills one place;
a sentence is read only where a row matches it wholly.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bot.offline_rules.statements import own_words
from bot.offline_rules.triples import StatedFact
from bot.offline_rules.wording import sentences

_CATEGORIES = {
    "has": ("personal", 0.5),
    "name": ("personal/identity", 0.9),
    "age": ("personal/identity", 0.9),
    "birthday": ("personal/identity", 0.9),
    "lives_in": ("personal/home", 0.9),
    "works_at": ("work", 0.7),
    "job": ("work", 0.7),
    "likes": ("preferences", 0.7),
    "dislikes": ("preferences", 0.7),
    "no_longer_likes": ("preferences", 0.7),
    "allergic_to": ("health", 0.9),
    "diet": ("preferences/food", 0.9),
    "pet": ("personal/pets", 0.7),
}

# predicate | pattern | sentence; {x} is what is stated, {who} of whom where it is somebody else.
_TABLE = r"""
name | (?:ich heiße|ich heisse|mein name ist) {x} | User heißt {x}
lives_in | (?:ich |wir )?(?:wohne|wohnen|lebe|leben)(?: jetzt| seit .+?)? in {x} | User wohnt in {x}
lives_in | (?:ich bin|wir sind) (?:jetzt |gerade )?(?:von .+ )?nach {x} (?:um)?gezogen | User wohnt in {x}
job | ich (?:arbeite als|bin) (?:jetzt )?{job}(?: von beruf)? | User arbeitet als {x}
works_at | ich arbeite (?:jetzt )?(?:bei|für) {x} | User arbeitet bei {x}
no_longer_likes | ich mag {x} nicht mehr | User mag {x} nicht mehr
no_longer_likes | ich mag kein(?:e|en)? {x} mehr | User mag {x} nicht mehr
dislikes | ich mag kein(?:e|en)? {x} | User mag kein {x}
dislikes | ich mag {x} (?:gar |überhaupt )?nicht | User mag {x} nicht
dislikes | ich (?:hasse|verabscheue) {x} | User hasst {x}
likes | ich (?:mag|liebe) (?:sehr |gerne? )?{x} | User mag {x}
likes | ich (?:trinke|esse|lese|spiele) (?:sehr )?gerne? {x} | User mag {x}
diet | ich bin {diet_de} | User ist {x}
allergic_to | ich bin (?:stark )?allergisch (?:gegen|auf) {x} | User ist allergisch gegen {x}
birthday | (?:mein geburtstag ist|ich habe) am {x}(?: geburtstag)? | Der Geburtstag von User ist am {x}
age | ich bin (?P<x>\d+)(?: jahre alt)? | User ist {x} Jahre alt
has | (?:ich habe|wir haben) {has_de} | User hat {x}
pet | mein(?:e)? {pet_de} heißt {x} | {Who} von User heißt {x}
of | mein(?:e)? {kin_de} {rest_de} | {Who} von User {x}
name | (?:je m'appelle|mon nom est|mon prénom est) {x} | User s'appelle {x}
lives_in | (?:j'habite|je vis|nous habitons|nous vivons)(?: maintenant)? (?:à|en|au|aux) {x} | User habite à {x}
lives_in | j'ai déménagé (?:à|en|au) {x} | User habite à {x}
job | je (?:suis|travaille comme) {job_fr} | User est {x}
works_at | je travaille (?:maintenant )?(?:chez|pour) {x} | User travaille chez {x}
no_longer_likes | je n'aime plus (?:les? |la |l'|du )?{x} | User n'aime plus {x}
dislikes | je n'aime pas (?:les? |la |l'|du )?{x} | User n'aime pas {x}
dislikes | je déteste (?:les? |la |l')?{x} | User déteste {x}
likes | (?:j'aime|j'adore) (?:bien |beaucoup )?(?:les? |la |l')?{x} | User aime {x}
diet | je suis {diet_fr} | User est {x}
allergic_to | je suis allergique (?:à la |à l'|aux |au |à ){x} | User est allergique à {x}
birthday | mon anniversaire (?:est|c'est) le {x} | L'anniversaire de User est le {x}
age | j'ai (?P<x>\d+) ans | User a {x} ans
pet | (?:mon|ma) {pet_fr} s'appelle {x} | {Who} de User s'appelle {x}
of | (?:mon|ma|mes) {kin_fr} {rest_fr} | {Who} de User {x}
name | (?:me llamo|mi nombre es) {x} | User se llama {x}
lives_in | (?:vivo|vivimos|resido)(?: ahora)? en {x} | User vive en {x}
lives_in | (?:me mudé|nos mudamos) a {x} | User vive en {x}
job | (?:soy|trabajo como|trabajo de) {job_es} | User trabaja como {x}
works_at | trabajo (?:ahora )?(?:en|para) {x} | User trabaja en {x}
no_longer_likes | ya no me gustan? (?:el |la |los |las )?{x} | A User ya no le gusta {x}
dislikes | no me gustan? (?:nada )?(?:el |la |los |las )?{x} | A User no le gusta {x}
dislikes | odio (?:el |la |los |las )?{x} | User odia {x}
likes | me (?:gustan?|encantan?) (?:mucho )?(?:el |la |los |las )?{x} | A User le gusta {x}
diet | soy {diet_es} | User es {x}
allergic_to | (?:soy alérgic[oa]|tengo alergia) (?:a la |a los |a las |al |a ){x} | User es alérgico a {x}
birthday | mi cumpleaños es el {x} | El cumpleaños de User es el {x}
age | tengo (?P<x>\d+) años | User tiene {x} años
pet | tengo (?:un |una ){pet_es} (?:que se llama|llamad[oa]) {x} | {Who} de User se llama {x}
pet | mi {pet_es} se llama {x} | {Who} de User se llama {x}
of | mi {kin_es} {rest_es} | {Who} de User {x}
name | (?:mi chiamo|il mio nome è) {x} | User si chiama {x}
lives_in | (?:vivo|abito|abitiamo|viviamo)(?: adesso| ora)? a {x} | User vive a {x}
lives_in | mi sono trasferit[oa] a {x} | User vive a {x}
job | (?:sono|lavoro come|faccio) (?:un |un'|una |il |la |l')?{job_it} | User lavora come {x}
works_at | lavoro (?:adesso |ora )?(?:per|presso|alla|da) {x} | User lavora presso {x}
no_longer_likes | non mi piac(?:e|ciono) più (?:il |la |i |le |l')?{x} | A User non piace più {x}
dislikes | non mi piac(?:e|ciono) (?:il |la |i |le |l')?{x} | A User non piace {x}
dislikes | odio (?:il |la |i |le |l'){x} | User odia {x}
likes | (?:mi piac(?:e|ciono)|adoro|amo) (?:molto )?(?:il |la |i |le |l')?{x} | A User piace {x}
diet | sono {diet_it} | User è {x}
allergic_to | sono allergic[oa] (?:alle |alla |ai |al |a ){x} | User è allergico a {x}
birthday | il mio compleanno è il {x} | Il compleanno di User è il {x}
pet | (?:il mio|la mia) {pet_it} si chiama {x} | {Who} di User si chiama {x}
of | (?:mio|mia) {kin_it} {rest_it} | {Who} di User {x}
name | (?:meu nome é|eu me chamo|me chamo|chamo-me) {x} | User se chama {x}
lives_in | (?:eu )?(?:moro|vivo)(?: agora)? em {x} | User mora em {x}
works_at | (?:eu )?trabalho (?:na|no|para a|para o|para) {x} | User trabalha em {x}
job | (?:eu )?(?:sou|trabalho como) {job_pt} | User trabalha como {x}
dislikes | (?:eu )?(?:não gosto|detesto) (?:de |do |da )?{x} | User não gosta de {x}
likes | (?:eu )?(?:gosto|adoro|amo) (?:muito )?(?:de |do |da )?{x} | User gosta de {x}
allergic_to | (?:eu )?(?:sou alérgic[oa]|tenho alergia) (?:a|ao|à) {x} | User é alérgico a {x}
name | (?:ik heet|mijn naam is) {x} | User heet {x}
lives_in | ik woon (?:nu )?in {x} | User woont in {x}
job | ik (?:werk als|ben) {job_nl} | User werkt als {x}
works_at | ik werk (?:nu )?(?:bij|voor) {x} | User werkt bij {x}
dislikes | ik (?:hou niet van|haat) {x} | User houdt niet van {x}
likes | ik (?:hou van|ben dol op) {x} | User houdt van {x}
allergic_to | ik ben allergisch voor {x} | User is allergisch voor {x}
name | меня зовут {x} | User зовут {x}
lives_in | (?:я )?(?:сейчас )?живу в {x} | User живёт в {x}
works_at | я (?:сейчас )?работаю в {x} | User работает в {x}
dislikes | я (?:не люблю|ненавижу) {x} | User не любит {x}
likes | (?:я (?:очень )?люблю|мне нравится) {x} | User любит {x}
allergic_to | у меня аллергия на {x} | У User аллергия на {x}
name | (?:nazywam się|mam na imię) {x} | User nazywa się {x}
lives_in | mieszkam w {x} | User mieszka w {x}
likes | (?:lubię|kocham|uwielbiam) {x} | User lubi {x}
dislikes | nie lubię {x} | User nie lubi {x}
name | (?:benim )?adım {x} | User'ın adı {x}
lives_in | (?:ben )?{x}['’]?(?:de|da|te|ta) (?:yaşıyorum|oturuyorum) | User {x}'de yaşıyor
likes | (?:ben )?{x}(?:[yı]?[ıiuü])? (?:seviyorum|severim) | User {x} seviyor
name | (?:제|내) 이름은 {x}(?:입니다|이에요|예요|이야|야) | User의 이름은 {x}
lives_in | (?:저는 |나는 )?(?:지금 )?{x}에 (?:살아요|삽니다|살아|살고 있어요) | User는 {x}에 산다
likes | (?:저는 |나는 )?{x}[을를] (?:좋아해요|좋아합니다|좋아해) | User는 {x} 좋아함
name | (?:我叫|我的名字(?:是|叫)){x} | User 叫{x}
lives_in | (?:我|我们)(?:现在)?住在{x} | User 住在{x}
lives_in | (?:我|我们)(?:已经|刚)?搬到(?:了)?{x}(?:了)? | User 住在{x}
works_at | 我(?:现在)?在{x}(?:工作|上班) | User 在{x}工作
no_longer_likes | 我不再喜欢{x}(?:了)? | User 不再喜欢{x}
dislikes | 我(?:很)?(?:不喜欢|讨厌){x} | User 不喜欢{x}
likes | 我(?:很|最|非常)?(?:喜欢|爱){x} | User 喜欢{x}
allergic_to | 我对{x}过敏 | User 对{x}过敏
pet | 我(?:的|家)?(?:的)?(?P<who>狗|猫)叫{x} | User 的{who}叫{x}
of | 我(?:的)?(?P<who>妹妹|姐姐|哥哥|弟弟|妈妈|爸爸|妻子|丈夫)(?P<x>(?:住在|对|叫|是|在|喜欢).+) | User 的{who}{x}
name | (?:私|僕|俺)の名前は{x}(?:です|だ) | User の名前は{x}
lives_in | (?:私は|僕は)?{x}に住んで(?:います|いる) | User は{x}に住んでいる
works_at | (?:私は|僕は)?{x}で働いて(?:います|いる) | User は{x}で働いている
dislikes | (?:私は|僕は)?{x}(?:が|は)(?:嫌い|苦手)(?:です|だ)? | User は{x}が嫌い
likes | (?:私は|僕は)?{x}が(?:大)?好き(?:です|だ)? | User は{x}が好き
allergic_to | (?:私は|僕は)?{x}アレルギー(?:です|があります) | User は{x}アレルギー
"""
_JOBS = {
    "job": r"(?P<x>(?-i:[A-ZÄÖÜ])[\w-]+(?:er|in|ist|istin|arzt|ärztin|mann|frau|eur|ent|or|at|wirt|kraft|koch|köchin))",
    "job_fr": r"(?:un |une )?(?P<x>[\w-]+(?:eur|euse|ier|ière|iste|ien|ienne|ère|ant|ante|ecin|ecte|rice)(?: .+)?)",
    "job_es": r"(?:un |una )?(?P<x>[\w-]+(?:or|ora|ero|era|ista|ico|ica|ado|ada|ente|ina|eta|ecto|ecta)(?: .+)?)",
    "job_it": r"(?P<x>[\w-]+(?:iere|iera|ista|ore|rice|ico|ica|ante|ente|aio|aia|tto|tta|ogo|oga|co)(?: .+)?)",
    "job_pt": r"(?:um |uma )?(?P<x>[\w-]+(?:or|ora|eiro|eira|ista|ico|ica|ado|ada|ente|eta)(?: .+)?)",
    "job_nl": r"(?:een )?(?P<x>[\w-]+(?:er|eur|aar|ist|kundige|arts|ster|ent|or))",
}
_WORDS = {
    "has_de": "(?P<x>(?:eine?n?|zwei|drei|vier|fünf|keine?n?) (?:kinder?|s[oö]hne?|t[oö]chter|geschwister|brüder|bruder"
    r"|schwestern?|hunde?|katzen?|hasen?|pferde?|auto|garten|enkel))",
    "diet_de": "(?P<x>vegetarier(?:in)?|veganer(?:in)?|vegetarisch|vegan)",
    "diet_fr": "(?P<x>végétarien(?:ne)?|végane?|vegan)",
    "diet_es": "(?P<x>vegetarian[oa]|vegan[oa])",
    "diet_it": "(?P<x>vegetarian[oa]|vegan[oa])",
    "pet_de": "(?P<who>hund|hündin|katze|kater|hase|kaninchen|pferd|vogel|hamster)",
    "pet_fr": "(?P<who>chien|chienne|chat|chatte|lapin|cheval|oiseau|hamster)",
    "pet_es": "(?P<who>perro|perra|gato|gata|conejo|caballo|hámster)",
    "pet_it": "(?P<who>cane|gatto|gatta|coniglio|cavallo|criceto)",
    "kin_de": "(?P<who>(?:schwester|bruder|mutter|vater|frau|mann|tochter|sohn|freundin|freund|oma|opa|chefin|chef)"
    r"(?: (?-i:[A-ZÄÖÜ])[\w-]+)?)",
    "kin_fr": "(?P<who>(?:sœur|soeur|frère|mère|père|femme|mari|fille|fils|copine|copain|ami|amie|patron)"
    r"(?: (?-i:[A-ZÉ])[\w-]+)?)",
    "kin_es": "(?P<who>(?:hermana|hermano|madre|padre|esposa|mujer|marido|hija|hijo|novia|novio|amiga|amigo|jefe|jefa"
    r"|abuela|abuelo)(?: (?-i:[A-ZÁ])[\w-]+)?)",
    "kin_it": "(?P<who>(?:sorella|fratello|madre|padre|moglie|marito|figlia|figlio|nonna|nonno|zia|zio)"
    r"(?: (?-i:[A-Z])[\w-]+)?)",
    "rest_de": r"(?P<x>(?:heißt|ist|wohnt|lebt|arbeitet|hat|mag|studiert|spielt|liebt|hasst)"
    r" (?!so\b|sehr\b|toll\b|krank\b).+)",
    "rest_fr": r"(?P<x>(?:s'appelle|est|habite|vit|travaille|a|aime|étudie|joue|déteste) (?!très\b|trop\b|si\b).+)",
    "rest_es": r"(?P<x>(?:se llama|es|vive|trabaja|tiene|estudia|juega|odia) (?!muy\b|tan\b).+)",
    "rest_it": r"(?P<x>(?:si chiama|è|vive|abita|lavora|ha|studia|gioca|odia) (?!molto\b|così\b).+)",
}
_X = r"(?P<x>\S.{0,80}?)"
_TRAILING = re.compile(
    r"[\s,]+(?:bitte|übrigens|jetzt|s'il te plaît|d'ailleurs|por favor|per favore|aliás|trouwens)$", re.I
)
_LEADING = re.compile(
    r"(?:hallo|hi|hey|übrigens|also|ja|nein|bonjour|salut|oui|non|hola|buenas|sí|ciao|salve|olá|oi|hoi|привет|你好|こんにちは"
    r"|eigentlich|en fait|en realidad|in realtà|na verdade|на самом деле|其实|実は)[\s,!，、。！]+",
    re.I,
)
_CLAUSE = re.compile(
    r"(?:,|,?\s+(?:und|aber|et|mais|y|pero|e|ma|mas|en|maar|и|но))\s+(?=(?:ich|meine?|wohne|lebe|arbeite|liebe|mag|hasse"
    r"|bin|je|mon|ma|me|mi|vivo|soy|trabajo|tengo|odio|sono|abito|lavoro|adoro|eu|moro|trabalho|gosto|ik|mijn|woon|werk"
    r"|hou|я|меня|мне|у меня|живу|работаю|люблю)\b|j['’])|[,，、]\s*(?=我|私)",
    re.I,
)
_POINTING = re.compile(
    r"\b(?:das|dies\w*|es|dich|dir|sie|ihn|wenn|dass|ça|cela|ce|cette|toi|quand|que|eso|esto|cuando|te|ti|lui|questo"
    r"|quello|quando|che|isso|você|dat|dit|je|als|это|этот|тебя|когда|что)\b|这|那|你|它|这个|それ|これ|あなた",
    re.I,
)
_FORGET = re.compile(
    r"(?:bitte |por favor |s'il te plaît |per favore )*(?:vergiss|oublie|olvida|dimentica|esquece|esqueça|vergeet"
    r"|забудь|忘记|忘掉|忘了)[\s,，:]*(?:dass|que|che|dat|что)?\s*(?P<text>.+)",
    re.I | re.S,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    predicate: str
    pattern: re.Pattern[str]
    sentence: str


def _rows() -> Iterator[_Row]:
    """The table as patterns; who speaks is left out where a sentence goes on: "ich heiße Anna und wohne in Bonn"."""
    for line in _TABLE.strip().splitlines():
        predicate, pattern, sentence = re.split(r" \| ", line)
        pattern = re.sub(r"^(ich|ik|я) ", r"(?:\1 )?", pattern)
        for name, words in {"x": _X, **_JOBS, **_WORDS}.items():
            pattern = pattern.replace(f"{{{name}}}", words)
        yield _Row(predicate=predicate, pattern=re.compile(pattern, re.I | re.S), sentence=sentence)


_ROWS = tuple(_rows())


def foreign_facts(text: str) -> Iterator[StatedFact]:
    """The facts that the person states in a text in one of the languages of the table, in order."""
    for sentence in sentences(own_words(text)):
        if re.search(r"[?？؟]\W*\Z", sentence):
            continue
        for clause in _CLAUSE.split(sentence):
            body = _LEADING.sub("", clause.strip()).strip(" .,!;:。！，、")
            fact = _fact(_TRAILING.sub("", body))
            if fact is not None:
                yield fact


def forgotten_in(text: str) -> list[str]:
    """What the person wishes to be forgotten, in the words they use for it."""
    asked = (_FORGET.fullmatch(sentence.strip(" .!。！")) for sentence in sentences(own_words(text)))
    return [found["text"] for found in asked if found]


def _fact(clause: str) -> StatedFact | None:
    for row in _ROWS:
        if (match := row.pattern.fullmatch(clause)) is None:
            continue
        said = match["x"].strip()
        if _POINTING.search(said):
            return None
        who = match.groupdict().get("who") or ""
        text = row.sentence.format(x=said, who=who, Who=who[:1].upper() + who[1:])
        if row.predicate == "of":
            return _of_another(who, said, text)
        category, importance = _CATEGORIES[row.predicate]
        object_ = f"{who} {said}" if who else said
        return StatedFact(
            text=f"{text}.", predicate=row.predicate, object=object_, category=category, importance=importance
        )
    return None


def _of_another(who: str, said: str, text: str) -> StatedFact:
    *_, last = who.split()
    subject = last if " " in who else f"user's {who}"
    verb, _, rest = said.partition(" ")
    return StatedFact(
        text=f"{text}.",
        subject=subject,
        predicate=verb.lower() if rest else "is",
        object=rest or said,
        category="personal/family",
    )
