/** The package gives the path of its program, as CommonJS and without types. */
declare module "workerd" {
  const exported: { readonly default: string };
  export default exported;
}
