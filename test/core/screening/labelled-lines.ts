/**
 * 400 lines as people and agents write them into memory, in ten languages: half of them have a secret,
 * half have none. Values in braces are made by `fillIn`, so that no file of this repository looks like a
 * leak.
 */
export const SECRET_LINES = `
en- OpenAI key for the demo: sk-proj-{b62:40}
en- The staging key is sk-{b62:48}.
en- export AWS_ACCESS_KEY_ID=AKIA{upper:16}
en- aws_secret_access_key = {b62:40}
en- GitHub PAT (expires in May): ghp_{b62:36}
en- Slack bot token \`xoxb-{digits:12}-{digits:12}-{b62:24}\`
en- Wi-Fi password is **{pw}**
en- Her laptop password: {pw}
en- login admin, password {pw}
en- The passphrase for the vault is "{pw}"
en- Password for the guest network: {pw}
en- DB_PASSWORD={pw}
en- postgres://app:{pw}@db.internal:5432/app
en- Card on file: {card}
en- Pays with {card4}, exp 04/29
en- Alarm code: {digits:4}
en- My PIN is {digits:4}, please don't tell anyone
en- Stripe: sk_live_{b62:24}
en- Authorization: Bearer {b62:43}
en- IBAN for refunds: {iban}
de- Das WLAN-Passwort lautet {pw}
de- Passwort: {pw}
de- Passwort für den Router: {pw}
de- Kennwort des Admin-Kontos ist {pw}
de- API-Schlüssel: {b62:32}
de- Der API-Schlüssel für die Wetterdaten ist {b62:32}
de- Zugang: benutzer anna, Passwort {pw}
de- Der Türcode ist {digits:4}
de- Haustürcode: {digits:5}
de- Die Geheimzahl ist {digits:4}
de- Kreditkarte {card4}
de- Seine IBAN: {iban}
de- Überweisung an {iban4} bis Freitag
de- GitLab-Token glpat-{b62:20}
de- Zugriffstoken: {b62:40}
de- Das Kennwort fürs NAS: {pw}
de- SMTP_PASS={pw}
de- Schlüssel: \`{b62:36}\`
de- mysql://root:{pw}@10.0.0.5/shop
de- Passphrase: "{pw}"
fr- Le mot de passe du wifi est {pw}
fr- Mot de passe : {pw}
fr- mot de passe du routeur : {pw}
fr- Clé API : {b62:32}
fr- La clé d’API est {b62:36}
fr- Jeton d’accès : {b62:40}
fr- Code de la porte : {digits:4}
fr- Le code PIN est {digits:4}
fr- Carte bancaire {card4}
fr- Numéro de carte : {card}
fr- Son IBAN est {iban4}
fr- mdp : {pw}
fr- identifiant marie, mot de passe {pw}
fr- SECRET_KEY="{b62:50}"
fr- token GitHub : ghp_{b62:36}
fr- Code de l’alarme : {digits:4}
fr- ftp://marie:{pw}@ftp.exemple.fr
fr- Le mot de passe pour la base est « {pw} »
fr- clé Stripe rk_live_{b62:24}
fr- webhook https://hooks.slack.com/services/T{upper:8}/B{upper:8}/{b62:24}
es- La contraseña del wifi es {pw}
es- Contraseña: {pw}
es- contraseña de la base de datos: {pw}
es- Clave de API: {b62:32}
es- La clave API es {b62:40}
es- clave: {pw}
es- Código de la alarma: {digits:4}
es- El PIN es {digits:4}
es- Tarjeta {card4}
es- Su tarjeta es la {card}
es- IBAN {iban4}
es- usuario ana, contraseña {pw}
es- TOKEN={b62:40}
es- AIza{b62:35}
es- npm_{b62:36}
es- redis://:{pw}@cache:6379
es- "password": "{pw}"
es- client_secret: {b62:32}
es- La clave de la puerta es {pw}
es- Código de la puerta: {digits:4}
it- La password del wifi è {pw}
it- Password: {pw}
it- password del router: {pw}
it- Chiave API: {b62:32}
it- La chiave API è {b62:40}
it- Il PIN è {digits:4}
it- Codice dell’allarme: {digits:4}
it- Carta di credito {card4}
it- carta n. {card}
it- IBAN: {iban4}
it- Parola d’ordine: {pw}
it- utente luca, password {pw}
it- access_token={b62:48}
it- hf_{b62:34}
it- SG.{b62:22}.{b62:43}
it- smtp://luca:{pw}@mail.esempio.it
it- pwd={pw}
it- auth_token: '{b62:32}'
it- Password per il NAS: {pw}
it- codice del cancello: {digits:4}
pt- A senha do wifi é {pw}
pt- Senha: {pw}
pt- senha do banco de dados: {pw}
pt- Palavra-passe: {pw}
pt- Chave da API: {b62:32}
pt- A chave de API é {b62:40}
pt- O PIN é {digits:4}
pt- Código do alarme: {digits:4}
pt- Cartão {card4}
pt- cartão de crédito: {card}
pt- IBAN: {iban}
pt- usuário joao, senha {pw}
pt- API_KEY={b62:32}
pt- github_pat_{b62:22}_{b62:59}
pt- mongodb://joao:{pw}@mongo/db
pt- eyJ{b62:20}.eyJ{b62:60}.{b62:43}
pt- "api_key": "{hex:32}"
pt- xapp-1-{b62:40}
pt- senha = "{pw}"
pt- Código da porta: {digits:4}
pl- Hasło do wifi to {pw}
pl- Hasło: {pw}
pl- hasło do bazy: {pw}
pl- Klucz API: {b62:32}
pl- Klucz API to {b62:40}
pl- PIN to {digits:4}
pl- PIN: {digits:4}
pl- Kod do drzwi: {digits:4}
pl- Karta {card4}
pl- numer karty: {card}
pl- IBAN {iban4}
pl- użytkownik ola, hasło {pw}
pl- SECRET={b62:40}
pl- glpat-{b62:20}
pl- amqp://ola:{pw}@rabbit
pl- token: {b62:40}
pl- AGE-SECRET-KEY-1{upper:58}
pl- Kod do alarmu: {digits:4}
pl- passwd: {pw}
pl- whsec_{b62:32}
ru- Пароль от вайфая: {pw}
ru- Пароль: {pw}
ru- пароль от базы — {pw}
ru- Ключ API: {b62:32}
ru- Токен: {b62:40}
ru- ПИН-код: {digits:4}
ru- PIN {digits:4}
ru- Код домофона: {digits:4}
ru- Карта {card4}
ru- номер карты: {card}
ru- IBAN {iban}
ru- логин ivan, пароль {pw}
ru- API_TOKEN={b62:40}
ru- {digits:9}:AA{b62:33}
ru- postgresql://ivan:{pw}@localhost/db
ru- Её пароль теперь {pw}
ru- Пароль для почты: {pw}
ru- ASIA{upper:16}
ru- secret_key: {b62:48}
ru- ghs_{b62:36}
ja- WiFiのパスワードは{pw}です
ja- パスワード：{pw}
ja- パスワード: {pw}
ja- APIキー: {b62:32}
ja- APIキーは{b62:40}
ja- 暗証番号は{digits:4}です
ja- 暗証番号: {digits:4}
ja- クレジットカード {card4}
ja- カード番号: {card}
ja- IBANは{iban}
ja- ルーターのパスワードは「{pw}」
ja- トークン: {b62:40}
ja- SECRET_TOKEN={b62:40}
ja- sk-ant-api03-{b62:60}
ja- mysql://root:{pw}@db/app
ja- GOCSPX-{b62:28}
ja- パスコード: {digits:6}
ja- xoxp-{digits:12}-{b62:30}
ja- ログインのパスワードは {pw}
ja- dop_v1_{hex:64}
zh- 无线网密码是{pw}
zh- 密码：{pw}
zh- 数据库密码: {pw}
zh- API密钥：{b62:32}
zh- API 密钥: {b62:40}
zh- 银行卡 {card4}
zh- 信用卡号：{card}
zh- IBAN：{iban}
zh- 令牌：{b62:40}
zh- 用户名 li，密码 {pw}
zh- 路由器的密码为 {pw}
zh- 门禁密码：{digits:6}
zh- PASSWORD={pw}
zh- AKIA{upper:16}
zh- pypi-{b62:80}
zh- mongodb+srv://li:{pw}@cluster0.mongodb.net
zh- 密钥: {b62:36}
zh- 他的密码现在是{pw}
zh- token = "{b62:40}"
zh- -----BEGIN RSA PRIVATE KEY-----
`;

/** Lines without a secret, among them those that speak of secrets, and hashes, ids and numbers. */
export const PLAIN_LINES = `
en- The password is kept in the safe.
en- Password manager: 1Password, family plan
en- Forgot her password on 2024-03-05 and reset it
en- Uses a passkey, so there is no password
en- API keys are rotated every 90 days
en- The secret of good bread is patience
en- commit {hex:40} fixes the login page
en- sha256: {hex:64}
en- Order id {uuid}
en- Revision 0198a9c1-7b2e-7c3d-8e4f-5a6b7c8d9e0f was reverted
en- Tokens per month: 2,000,000
en- The token limit is 128000 with gpt-4o-mini
en- Primary key: (tenant_id, created_at)
en- Key takeaways: ship by Q3 2025, hire two people
en- Invoice 2024-00017 over 1,250.00 EUR
en- Lives at 1600 Amphitheatre Parkway, Mountain View, CA 94043
en- Tracking number 1Z999AA10123456784
en- Password: required
en- Set PASSWORD via process.env.DB_PASSWORD
en- Zip code 90210, flight UA 2402 at 10:45
de- Das Passwort steht im Tresor.
de- Passwort vergessen am 3. Mai 2024
de- Passwort: siehe Bitwarden
de- Der Schlüssel liegt unter der Matte
de- Schlüsselübergabe am 12.08.2025 um 14:30
de- Die API-Schlüssel werden alle 90 Tage gewechselt
de- Kundennummer 4711-0815, Vertrag 20240017
de- Telefon im Büro: Durchwahl 17
de- Commit {hex:40} auf main
de- Auftrag {uuid}
de- Das Geheimnis guten Kaffees ist frisches Wasser
de- Rechnung 2024-0815 über 1.250,00 €
de- PLZ 10115, Berlin Mitte
de- Postleitzahl und Türnummer: 50667, Tür 12
de- Passwortlänge: mindestens 12 Zeichen
de- Kontostand am 31.12.2024: 12.345,67 €
de- Termin am 2025-03-17 um 09:15 in Raum 4711
de- Der Code ist in TypeScript geschrieben
de- ISBN 978-3-16-148410-0
de- Token-Budget: 4000 pro Anfrage
fr- Le mot de passe est dans le coffre.
fr- Mot de passe oublié en mars 2024
fr- La clé est sous le paillasson
fr- Les clés API changent tous les 90 jours
fr- Le secret d’un bon pain est la patience
fr- Facture 2024-0017 de 1 250,00 €
fr- Rendez-vous le 12/08/2025 à 14h30
fr- Code postal 75011, Paris
fr- commande {uuid}
fr- commit {hex:40}
fr- Numéro de dossier 20240017-A
fr- Clé primaire : id_client
fr- Il prend le vol AF 1234 à 10h45
fr- Longueur du mot de passe : 12 caractères
fr- Le jeton expire après 15 minutes
fr- Mot de passe : obligatoire
fr- Code promo : BIENVENUE10
fr- somme de contrôle sha1 {hex:40}
fr- Température de 21,5 °C le 3 mai
fr- Clé de lecture : sol, mesure 4/4
es- La contraseña está en la caja fuerte.
es- Olvidó la contraseña en marzo de 2024
es- La clave del éxito es la constancia
es- Las claves de API cambian cada 90 días
es- Código postal 28013, Madrid
es- Pedido {uuid}
es- commit {hex:40}
es- Factura 2024-0017 por 1.250,00 €
es- Cita el 12/08/2025 a las 14:30
es- Número de expediente 20240017
es- Contraseña: obligatoria
es- La clave primaria es id_cliente
es- El token caduca a los 15 minutos
es- Vuelo IB 1234 a las 10:45
es- Código de error 4711
es- Le gusta el café, no el té
es- Clave: puntualidad y respeto
es- Presupuesto de tokens: 4000
es- El secreto está en la masa
es- Habitación 1204, piso 12
it- La password è in cassaforte.
it- Ha dimenticato la password nel marzo 2024
it- La chiave è sotto lo zerbino
it- Le chiavi API cambiano ogni 90 giorni
it- CAP 00184, Roma
it- Ordine {uuid}
it- commit {hex:40}
it- Fattura 2024-0017 di 1.250,00 €
it- Appuntamento il 12/08/2025 alle 14:30
it- Pratica numero 20240017
it- Password: obbligatoria
it- La chiave primaria è id_cliente
it- Il token scade dopo 15 minuti
it- Volo AZ 1234 alle 10:45
it- Codice sconto ESTATE10
it- Il segreto è la pazienza
it- Parola chiave: sostenibilità
it- Budget di token: 4000
it- Camera 1204 al piano 12
it- Chiave di lettura: il dubbio
pt- A senha está no cofre.
pt- Esqueceu a senha em março de 2024
pt- A chave está debaixo do tapete
pt- As chaves de API mudam a cada 90 dias
pt- CEP 01310-100, São Paulo
pt- Pedido {uuid}
pt- commit {hex:40}
pt- Fatura 2024-0017 de 1.250,00 €
pt- Consulta em 12/08/2025 às 14:30
pt- Processo número 20240017
pt- Senha: obrigatória
pt- A chave primária é id_cliente
pt- O token expira após 15 minutos
pt- Voo TP 1234 às 10:45
pt- Código de desconto VERAO10
pt- O segredo é a paciência
pt- Palavra-chave: sustentabilidade
pt- Orçamento de tokens: 4000
pt- Quarto 1204, andar 12
pt- A senha da fila é a próxima
pl- Hasło jest w sejfie.
pl- Zapomniała hasła w marcu 2024
pl- Klucz jest pod wycieraczką
pl- Klucze API zmieniamy co 90 dni
pl- Kod pocztowy 00-950, Warszawa
pl- Zamówienie {uuid}
pl- commit {hex:40}
pl- Faktura 2024-0017 na 1250,00 zł
pl- Wizyta 12.08.2025 o 14:30
pl- Numer sprawy 20240017
pl- Hasło: wymagane
pl- Klucz główny to id_klienta
pl- Token wygasa po 15 minutach
pl- Lot LO 1234 o 10:45
pl- Kod rabatowy LATO10
pl- Sekret to cierpliwość
pl- Hasło kampanii: bliżej ludzi
pl- Budżet tokenów: 4000
pl- Pokój 1204 na 12 piętrze
pl- Kod błędu 4711
ru- Пароль лежит в сейфе.
ru- Забыла пароль в марте 2024
ru- Ключ под ковриком
ru- Ключи API меняем каждые 90 дней
ru- Индекс 101000, Москва
ru- Заказ {uuid}
ru- коммит {hex:40}
ru- Счёт 2024-0017 на 1250,00 ₽
ru- Приём 12.08.2025 в 14:30
ru- Номер дела 20240017
ru- Пароль: обязателен
ru- Первичный ключ: id_клиента
ru- Токен истекает через 15 минут
ru- Рейс SU 1234 в 10:45
ru- Промокод LETO10
ru- Секрет в терпении
ru- Ключевые слова: устойчивость, рост
ru- Бюджет токенов: 4000
ru- Комната 1204, этаж 12
ru- Код ошибки 4711
ja- パスワードは金庫にあります。
ja- 2024年3月にパスワードを忘れた
ja- 鍵はマットの下
ja- APIキーは90日ごとに変更する
ja- 郵便番号 100-0001、東京
ja- 注文 {uuid}
ja- コミット {hex:40}
ja- 請求書 2024-0017、12,500円
ja- 予約は2025年8月12日14時30分
ja- 案件番号 20240017
ja- パスワード: 未設定
ja- 主キーは customer_id
ja- トークンは15分で失効する
ja- 便名 NH 1234、10時45分発
ja- 割引コード SUMMER10
ja- 秘訣は忍耐です
ja- キーワード: 持続可能性
ja- トークンの予算: 4000
ja- 部屋は12階の1204号室
ja- エラーコード 4711
zh- 密码在保险箱里。
zh- 2024年3月忘记了密码
zh- 钥匙在垫子下面
zh- API密钥每90天更换一次
zh- 邮编 100000，北京
zh- 订单 {uuid}
zh- 提交 {hex:40}
zh- 发票 2024-0017，1250.00元
zh- 预约在2025年8月12日14:30
zh- 案件编号 20240017
zh- 密码：必填
zh- 主键是 customer_id
zh- 令牌15分钟后过期
zh- 航班 CA 1234，10:45起飞
zh- 优惠码 SUMMER10
zh- 秘诀是耐心
zh- 关键词：可持续发展
zh- 令牌预算：4000
zh- 12楼1204房间
zh- 错误代码 4711
`;
