import { type ProviderFault, toFault } from '../provider-http/fault.ts';

/** What a request says beside the texts; detected from refusals and cached. */
export interface RequestFormat {
  /** Voyage refuses `float`, others the parameter. */
  encoding: boolean;
  dimensions: boolean;
}

/** The request format that a server takes. */
export class KnownFormat {
  #format: RequestFormat;
  /** Whether a request of this format went through: then a refusal has another reason. */
  #isProven = false;

  constructor(first: RequestFormat) {
    this.#format = first;
  }

  /** Sends a request in the known format, and in others while none was ever taken. */
  async send<T>(request: (format: RequestFormat) => Promise<T>): Promise<T> {
    try {
      return await this.#try(this.#format, request);
    } catch (error) {
      const fault = toFault(error);
      if (!isRefused(fault)) throw error;
      const others = this.#isProven
        ? withoutNamed(this.#format, fault)
        : otherFormats(this.#format, fault);
      for (const other of others) {
        try {
          return await this.#try(other, request);
        } catch (again) {
          if (!isRefused(toFault(again))) throw again;
        }
      }
      throw error;
    }
  }

  async #try<T>(format: RequestFormat, request: (format: RequestFormat) => Promise<T>): Promise<T> {
    const answer = await request(format);
    // Only what went through says that the format was the matter.
    this.#format = format;
    this.#isProven = true;
    return answer;
  }
}

function isRefused({ reason, status }: ProviderFault): boolean {
  return reason === 'rejected' && [400, 415, 422].includes(status ?? 400);
}

/** The formats to try after a refusal: first what it names. */
function otherFormats(format: RequestFormat, fault: ProviderFault): RequestFormat[] {
  const both = { encoding: false, dimensions: false };
  const others = [
    ...withoutNamed(format, fault),
    { ...format, dimensions: false },
    { ...format, encoding: false },
    both,
  ];
  return others.filter(
    (other, at) => !isSame(other, format) && others.findIndex((each) => isSame(each, other)) === at,
  );
}

/** The format without the parameter that a refusal names. */
function withoutNamed(format: RequestFormat, { said }: ProviderFault): RequestFormat[] {
  if (format.encoding && /encoding_?format/i.test(said)) return [{ ...format, encoding: false }];
  if (format.dimensions && /dimension|matryoshka/i.test(said)) {
    return [{ ...format, dimensions: false }];
  }
  return [];
}

function isSame(left: RequestFormat, right: RequestFormat): boolean {
  return left.encoding === right.encoding && left.dimensions === right.dimensions;
}
