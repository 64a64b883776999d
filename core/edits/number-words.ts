/** Numbers in the words of the languages that search knows, and of some more; folded. */
const ROWS: readonly (readonly [value: number, words: string])[] = [
  [
    1,
    'one a an once eins ein eine einem einen einer einmal un una une uno um uma een en ett jeden один одну yksi egy bir satu 一 하나 한',
  ],
  [
    2,
    'two twice zwei zweimal deux dos due dois duas twee tva to dwa dva iki kaksi ket ketto doi doua два две dua 二 两 兩 둘 두',
  ],
  [3, 'three drei trois tres tre drie trzy tri uc kolme harom trei три tiga 三 셋 세'],
  [
    4,
    'four vier quatre cuatro quattro quatro fyra fire cztery ctyri dort nelja negy patru четыре empat 四 넷 네',
  ],
  [5, 'five funf cinq cinco cinque vijf fem piec pet bes viisi ot cinci пять lima 五 다섯'],
  [6, 'six sechs seis sei zes sex seks szesc sest alti kuusi hat sase шесть enam 六 여섯'],
  [
    7,
    'seven sieben sept siete sette sete zeven sju syv siedem sedm yedi seitseman het sapte семь tujuh 七 일곱',
  ],
  [
    8,
    'eight acht huit ocho otto oito atta otte osiem osm sekiz kahdeksan nyolc opt восемь delapan 八 여덟',
  ],
  [
    9,
    'nine neun neuf nueve nove negen nio ni dziewiec devet dokuz yhdeksan kilenc noua девять sembilan 九 아홉',
  ],
  [
    10,
    'ten zehn dix diez dieci dez tien tio ti dziesiec deset on kymmenen tiz zece десять sepuluh 十 열',
  ],
  [11, 'eleven elf onze once undici elva elleve jedenascie'],
  [12, 'twelve zwolf douze doce dodici doze twaalf tolv dwanascie'],
  [15, 'fifteen funfzehn quinze quince quindici vijftien femton'],
  [20, 'twenty zwanzig vingt veinte venti vinte twintig tjugo двадцать'],
  [30, 'thirty dreissig trente treinta trenta trinta dertig trettio тридцать'],
  [40, 'forty vierzig quarante cuarenta quaranta quarenta veertig fyrtio сорок'],
  [50, 'fifty funfzig cinquante cincuenta cinquanta cinquenta vijftig femtio пятьдесят'],
  [60, 'sixty sechzig soixante sesenta sessanta sessenta zestig'],
  [100, 'hundred hundert cent cien ciento cento cem honderd hundra сто 百'],
  [1_000, 'thousand tausend mille mil duizend tusen тысяча 千'],
];

/** The value of each word. One that is two numbers (`once`: 1 in English, 11 in Spanish) is the larger. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map(
  ROWS.flatMap(([value, words]) => words.split(' ').map((word) => [word, value] as const)),
);
