import { type Context, createContext, createElement, type ReactElement, type ReactNode, useContext } from "react";
import type { Client } from "../client/index.ts";
import { type ClaimStore, claimStoreOf } from "../claim-store/index.ts";

export interface LatchkeyProviderProps {
  /** Made once, outside of rendering. Null where there is none, as on a server: there every lock is idle and every key free. */
  readonly client: Client | null;
  readonly children?: ReactNode;
}

/** Undefined: no provider. */
const ClientContext: Context<Client | null | undefined> = createContext<Client | null | undefined>(undefined);

/** Gives the hooks below it their client. */
export function LatchkeyProvider({ client, children }: LatchkeyProviderProps): ReactElement {
  return createElement(ClientContext.Provider, { value: client }, children);
}

/** Null: the provider has no client. */
export function useClaimStore(): ClaimStore | null {
  const client = useContext(ClientContext);
  if (client === undefined) throw new Error("latchkey/react: a LatchkeyProvider above this component is needed");
  return client === null ? null : claimStoreOf(client);
}
