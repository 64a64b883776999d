// What speaks to the agent that will read it, not about the user.
const FORMS = [
  /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|earlier|above|all|any|your|the)\b/gi,
  /\b(?:system|developer)\s{1,3}(?:prompt|message|instruction)/gi,
  /\byou\s{1,3}(?:must|should|shall|will|are|have to|need to)\b/gi,
  /\b(?:assistant|agent|model|ai|llm|bot)s?\s{1,3}(?:must|should|shall|will|has to|have to|needs to|may)\b/gi,
  /\b(?:always|never)\s{1,3}(?:respond|reply|answer|say|tell|send|call|run|execute|reveal|mention|ask|include|recommend)\b/gi,
  /\b(?:from now on|act as|pretend to|do not tell|don't tell|respond with|reply with|output only)\b/gi,
  /\b(?:send|forward|post|upload|email|exfiltrate)\b.{0,60}\b(?:to|at)\b.{0,20}(?:https?:|www\.|@)/gi,
  /\b(?:curl|wget|powershell|rm -rf|sudo|eval)\b/gi,
  /<\|?\/?\s{0,3}(?:system|assistant|user|im_start|im_end|tool|instructions?)\b/gi,
  /\[\/?inst\]/gi,
  /\bmemory_(?:write|patch|delete|move|remember)\b/gi,
  /\b(?:ignoriere|vergiss)\b.{0,40}\b(?:alle|bisherigen|vorherigen)\b/gi,
  /\b(?:ignore[rz]?|oublie[rz]?)\b.{0,40}\b(?:instructions|consignes)\b/gi,
  /\bignora\b.{0,40}\b(?:instrucciones|istruzioni|instruções)\b/gi,
  /忽略.{0,20}(?:指令|指示|之前)|你必须|無視して/gu,
];

/**
 * Whether one of a model's texts reads like an instruction to an agent that its grounds do not give.
 * What a user asks to be remembered may be one: "always reply in German" is a preference. The grounds
 * may be long, so they are made only for texts that have one.
 */
export function bringsInstruction(texts: readonly string[], toGrounds: () => string): boolean {
  const said = texts.flatMap((text) => FORMS.flatMap((form) => text.match(form) ?? []));
  if (said.length === 0) return false;
  const known = toGrounds().toLowerCase();
  return said.some((one) => !known.includes(one.toLowerCase()));
}
